package tuner

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// callOffTime bounds the ending of a study whose job's own time is over.
const callOffTime = 10 * time.Second

// callOff ends the study of a cancelled job, so that its seats stop, and gives back the trial that this job had. Another run that shares
// the study asks for it again. That it can't be written leaves seats at work that nobody wants: the next who comes ends them.
func (t *Tuner) callOff(ctx context.Context, task worker.Task, execution string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callOffTime)
	defer cancel()
	log := t.shop.Log(task)
	l, err := openLedger(ctx, &ledger{bus: t.bus, name: events.Study{Pipeline: task.Job.Pipeline, ID: hexOf(execution)}, prove: task.Prove, log: log})
	if err == nil {
		err = l.write(ctx, func(study tune.Study) (tune.Entry, error) { return calledOff(study, ownerOf(task)), nil })
	}
	if err != nil {
		log.Warn("the study of a cancelled job is not ended", "study", hexOf(execution), "error", err)
	}
}

// calledOff ends a study, and what a job has of it.
func calledOff(study tune.Study, me tune.Owner) (e tune.Entry) {
	if study.Entries == 0 {
		return e
	}
	if mine := study.Of(me.Job); mine != nil {
		if mine.Owner != me {
			e.Taken = &tune.Taken{Trial: mine.ID, Owner: me}
		}
		e.Ended = &tune.Ended{Trial: mine.ID, Owner: me, Status: tune.Invalid, Message: "cancelled"}
	}
	if study.Finished == nil {
		e.Finished = &tune.Finished{Why: tune.Cancelled}
	}
	return e
}
