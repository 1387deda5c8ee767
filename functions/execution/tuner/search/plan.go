package search

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/events"
)

// NoStudy returns the failure of those who work on a study whose log is empty: the bus has lost it.
// The next attempt at the tune job begins the study again.
func NoStudy() error {
	return events.Fail(events.FailureUnavailable, errors.New("the bus has lost the study's log: the next attempt begins the study again"))
}

// Plan is what a job has to write next, after a try of its own has ended or without one: how that
// ended, together with the trial that the job works on next, or with the study's end. It is empty
// where the job has a trial already, and where there is nothing for it to do now; NoStudy where the
// log is empty. It follows from the log, the owner and the time alone, so a participant that lost a
// race, or an answer, plans again.
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

// Holds says whether a trial runs in an owner's hands.
func Holds(study tune.Study, owner tune.Owner, trial string) bool {
	t := study.Trial(trial)
	return t != nil && t.Status == tune.Running && t.Owner == owner
}
