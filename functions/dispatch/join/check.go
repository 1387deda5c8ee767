package join

import (
	"slices"

	"github.com/stoker-ml/stoker/events"
)

// Check says what is wrong with a join that was read for a run: an *events.Invalid, nil if it can be gone on with. Whoever may write to
// the register may have written anything there.
func (j Join) Check(pipeline, run string) error {
	switch {
	case j.Pipeline != pipeline:
		return &events.Invalid{Field: "pipeline", Expected: pipeline, Got: j.Pipeline}
	case j.Run != run:
		return &events.Invalid{Field: "run", Expected: run, Got: j.Run}
	}
	if err := j.checkTuning(); err != nil {
		return err
	}
	switch j.State {
	case Waiting:
		return nil
	case Complete:
		return j.checkPinned()
	case Dispatched:
		if err := j.checkPinned(); err != nil {
			return err
		}
		return events.CheckJobID("job", j.Job)
	case Ended:
		return j.checkEnding()
	}
	return &events.Invalid{Field: "state", Expected: "waiting, complete, dispatched or ended", Got: string(j.State)}
}

func (j Join) checkTuning() error {
	switch {
	case j.Tuning == nil:
		return nil
	case j.Tuning.Revision == 0:
		return &events.Invalid{Field: "tuning.revision", Expected: "that of the pipeline which the run is tuned with"}
	case j.State != Ended && len(j.AtTuning().Facts) == 0:
		return &events.Invalid{Field: "tuning.sequence", Expected: "that of a fact of the run"}
	case j.Tuning.Job != "":
		return events.CheckJobID("tuning.job", j.Tuning.Job)
	}
	return nil
}

func (j Join) checkPinned() error {
	if len(j.Facts) == 0 {
		return &events.Invalid{Field: "facts", Expected: "those that completed the run"}
	}
	if j.Revision == 0 {
		return &events.Invalid{Field: "revision", Expected: "that of the pipeline which the run was completed with"}
	}
	return nil
}

func (j Join) checkEnding() error {
	if j.Ending == nil {
		return &events.Invalid{Field: "ending", Expected: "why the run has ended"}
	}
	if !slices.Contains(events.FailureKinds(), j.Ending.Kind) {
		return &events.Invalid{Field: "ending.kind", Expected: "a kind of failure", Got: string(j.Ending.Kind)}
	}
	return nil
}
