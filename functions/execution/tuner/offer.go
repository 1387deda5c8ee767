package tuner

import (
	"context"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// offers remembers when each seat of a study was offered by this one: one that nobody has taken since is on the queue still.
type offers map[int]time.Time

// offerAgain is how long a seat is taken to be on the queue, or at work.
const offerAgain = 3 * time.Second

// offer asks for as many seats more as there is room for trials: whoever has just taken one thinks that there are others. A seat that
// finds none is soon gone; one that is on the queue is not offered twice. That an offer is lost costs nothing but time.
func (s *seat) offer(ctx context.Context, study tune.Study) {
	free := study.Free()
	if room := study.Room(); room >= 0 && !study.Config.Algorithm.HasEpochs() {
		free = min(free, room+waiting(study))
	}
	for n := 1; n < study.Config.Parallel && free > 0; n++ {
		job := seatJob(s.task.Job, s.Name().ID, n)
		if job.ID == s.task.Job.ID || study.Of(job.ID) != nil {
			continue
		}
		free--
		if time.Since(s.offers[n]) < offerAgain {
			continue
		}
		if err := s.bus.Offer(ctx, job); err != nil {
			s.log.WarnContext(ctx, "a seat is not offered", "study", s.Name().ID, "seat", n, "error", err)
			return
		}
		s.offers[n] = time.Now()
	}
}

// waiting are the trials to be tried again.
func waiting(study tune.Study) (n int) {
	for _, t := range study.Trials {
		if t.Status == tune.Invalid {
			n++
		}
	}
	return n
}

// seatJob is the n-th seat of a study, the same for whoever offers it. by is a job of the study's.
func seatJob(by events.Job, study string, n int) events.Job {
	job := by
	job.ID = events.DerivedID("seat", study, strconv.Itoa(n))
	job.Function = events.FunctionTrial
	job.Study = study
	return job
}
