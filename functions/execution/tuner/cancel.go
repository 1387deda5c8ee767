package tuner

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/studies"
	"github.com/stoker-ml/stoker/functions/worker"
)

// endTime bounds the ending of a study whose job's own time is over.
const endTime = 10 * time.Second

// last says whether a job is given up with a failure: nobody will tell of its study then.
func (t *Tuner) last(task worker.Task, failure *events.Failure) bool {
	switch failure.Kind {
	case events.FailureCancelled, events.FailureInput:
		return true
	case events.FailureModule, events.FailureCheck:
		earlier := task.Attempt.Failures[events.FailureModule] + task.Attempt.Failures[events.FailureCheck]
		return earlier+1 >= t.Limits(task.Job).Attempts
	}
	return false
}

// endStudy ends the study of a job that is cancelled or given up, so that its seats stop, and gives back the trial that this job had. Another
// run that shares the study asks for it again. That it can't be written leaves seats at work that nobody wants, until the study is over.
func (t *Tuner) endStudy(ctx context.Context, task worker.Task, failure *events.Failure) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	why := tune.Finished{Why: tune.Failing, Message: failure.Error()}
	if failure.Kind == events.FailureCancelled {
		why = tune.Finished{Why: tune.Cancelled}
	}
	why.Message = search.Beginning(why.Message, search.MaxMessage)
	log, id := t.shop.Log(task), hexOf(failure.Execution)
	l, err := studies.Open(ctx, t.bus, events.Study{Pipeline: task.Job.Pipeline, ID: id}, studies.Options{Prove: task.Prove, Logger: log})
	if err == nil {
		err = l.Write(ctx, func(study tune.Study) (tune.Entry, error) { return calledOff(study, ownerOf(task), why), nil })
	}
	if err != nil {
		log.Warn("the study of a job that is over is not ended", "study", id, "error", err)
	}
}

// calledOff ends a study, and what a job has of it.
func calledOff(study tune.Study, me tune.Owner, why tune.Finished) (e tune.Entry) {
	if study.Entries == 0 {
		return e
	}
	if mine := study.Of(me.Job); mine != nil {
		if mine.Owner != me {
			e.Taken = &tune.Taken{Trial: mine.ID, Owner: me}
		}
		e.Ended = &tune.Ended{Trial: mine.ID, Owner: me, Status: tune.Invalid, Message: "the search was given up"}
	}
	if study.Finished == nil {
		e.Finished = &why
	}
	return e
}
