package scale_test

import (
	"fmt"
	"regexp"

	"github.com/stoker-ml/stoker/infra/scale"
)

// scaled is a ScaledJob and its Jobs.
type scaled struct {
	w        *world
	class    string
	spec     scale.ScaledJob
	consumer scale.Consumer
	workers  []*process
}

// poll does what KEDA does at each polling interval. It returns the lag.
func (s *scaled) poll() int64 {
	s.w.t.Helper()
	lag, _ := s.polled()
	return lag
}

func (s *scaled) polled() (lag, started int64) {
	s.w.t.Helper()
	lag, started = s.w.judge.decide(s.w.t, s.consumer, s.spec, s.running())
	for range started {
		name := fmt.Sprintf("worker-%s-%d", s.class, len(s.workers)+1)
		s.workers = append(s.workers, s.w.start(name,
			"worker", "--once", "--functions", "train", "--classes", s.class, "--wait", waitForJob))
	}
	if running := s.running(); running > s.spec.Max {
		s.w.t.Errorf("%d workers of class %s run, %d may", running, s.class, s.spec.Max)
	}
	return lag, started
}

func (s *scaled) lag() int64 {
	s.w.t.Helper()
	lag, err := s.consumer.Lag(s.w.t.Context())
	must(s.w.t, err)
	return lag
}

// running returns the Jobs that have not ended.
func (s *scaled) running() (count int64) {
	for _, worker := range s.workers {
		if !worker.ended() {
			count++
		}
	}
	return count
}

func (s *scaled) wantPoll(lag, started int64) {
	s.w.t.Helper()
	gotLag, gotStarted := s.polled()
	if gotLag != lag || gotStarted != started {
		s.w.t.Errorf("class %s: lag %d starts %d workers, want %d and %d", s.class, gotLag, gotStarted, lag, started)
	}
}

// taken is what a worker logs when it takes a job.
var taken = regexp.MustCompile(`msg="job claimed" job=(\S+) pipeline=(\S+) run=(\S+) attempt=(\S+)`)

// working returns the newest worker once its training has reported a step.
func (s *scaled) working() *process {
	s.w.t.Helper()
	newest := s.workers[len(s.workers)-1]
	s.w.eventually(newest.name+" trains", func() bool {
		if newest.ended() {
			s.w.t.Fatalf("%s has ended before it was disturbed:\n%s", newest.name, newest.said())
		}
		job := taken.FindStringSubmatch(newest.said())
		if job == nil {
			return false
		}
		progress, err := s.w.bus.LastProgress(s.w.t.Context(), job[2], job[3], job[1])
		return err == nil && progress.Attempt == job[4] && progress.Step > 0
	})
	return newest
}

// wantWorkers checks that there were so many processes, each of which had a job and ended well.
func (s *scaled) wantWorkers(want int) {
	s.w.t.Helper()
	if len(s.workers) != want {
		s.w.t.Errorf("class %s: %d workers were started, want %d", s.class, len(s.workers), want)
	}
	for _, worker := range s.workers {
		worker.wantGood()
	}
}
