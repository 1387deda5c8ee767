package scale

// ScaledJob is how KEDA scales what runs one job and leaves.
type ScaledJob struct {
	PerJob int64 // lagThreshold: messages for each Kubernetes Job; 1 for workers that take one job
	Max    int64 // maxReplicaCount

	// Standing is the number of workers that a Deployment keeps for the same queue:
	// customScalingQueueLengthDeduction. 0: none.
	Standing int64
}

// Start is how many Jobs to start, by the strategy "default", or with Standing by "custom" with 1
// for each running Job:
//
//	min(⌈lag / PerJob⌉, Max) − Standing − running,
//
// no less than 0. The lag counts jobs that running ones and standing workers work on, so they are
// taken off; the strategy "accurate" would not.
//
// Source: pkg/scaling/scaledjob and pkg/scaling/executor of KEDA 2.21.
func (s ScaledJob) Start(lag, running int64) int64 {
	wanted := min((lag+s.PerJob-1)/s.PerJob, s.Max)
	return max(0, wanted-s.Standing-running)
}
