package search

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/events"
)

// NoStudy returns the failure of a job on a study whose log is empty, because the bus has lost it.
// The next attempt at the tune job begins the study again.
func NoStudy() error {
	return events.Fail(events.FailureUnavailable, errors.New("the bus has lost the study's log: the next attempt restarts the study"))
}

// Plan returns the entry that a job has to append next, with the end of a try of its own if it has
// one: that end together with the trial that the job works on next, or with the study's end. The
// entry is empty if the job has a trial already, or if it has nothing to do at present; the error
// is NoStudy if the log is empty. The result depends only on the log, the owner and the time, so a
// participant that lost a race, or an answer, plans again.
func Plan(study tune.Study, me tune.Owner, ended *tune.Ended, now time.Time) (e tune.Entry, err error) {
	if study.Entries == 0 {
		return e, NoStudy()
	}
	if ended != nil && Holds(study, me, ended.Trial) {
		e.Ended = ended
		if err := study.Apply(e); err != nil {
			return tune.Entry{}, events.Fail(events.FailureCrash, err)
		}
	}
	if mine := study.Of(me.Job); mine != nil {
		if mine.Owner != me {
			e.Taken = &tune.Taken{Trial: mine.ID, Owner: me}
		}
		return e, nil
	}
	if e.Finished = study.Due(now); e.Finished != nil || study.Free() == 0 {
		return e, nil
	}
	if again := study.Retry(); again != nil {
		e.Started = []tune.Started{{Trial: again.ID, Owner: me}}
		return e, nil
	}
	suggestion, verdict, err := suggest.Next(&study)
	switch {
	case err != nil:
		return tune.Entry{}, events.Fail(events.FailureModule, fmt.Errorf("study: %w", err))
	case verdict == tune.Try:
		e.Started = []tune.Started{{Trial: study.NextID(), Suggestion: &suggestion, Owner: me}}
	case verdict == tune.Over:
		e.Finished = study.Over()
	}
	return e, nil
}

// Holds reports whether an owner runs a trial.
func Holds(study tune.Study, owner tune.Owner, trial string) bool {
	t := study.Trial(trial)
	return t != nil && t.Status == tune.Running && t.Owner == owner
}
