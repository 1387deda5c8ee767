package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/worker"
)

// studyOf returns the name of the log of a search.
func studyOf(e execution.Execution) events.Study {
	return events.Study{Pipeline: e.Job.Pipeline, ID: hexOf(e.ID)}
}

func hexOf(execution string) string { return strings.TrimPrefix(execution, "sha256:") }

// open reads the log of a search to its end; a log that has not been begun is empty.
func (t *Tuner) open(ctx context.Context, task worker.Task, e execution.Execution) (*studies.Log, error) {
	return studies.Open(ctx, t.bus, studyOf(e), studies.Options{Prove: task.Prove, Logger: e.Log})
}

// begin appends the first entry of the log, or that this job asks again for a study that has no
// result.
func begin(ctx context.Context, l *studies.Log, task worker.Task, config *tune.Config) error {
	return l.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		switch {
		case study.Entries == 0 && config == nil:
			return e, search.NoStudy()
		case study.Entries == 0:
			e.Begun = &tune.Begun{Config: *config, Request: requestOf(task)}
		case study.Finished == nil || !reopens(study, task):
		case study.Finished.Why == tune.Cancelled:
			e.Begun = &tune.Begun{Config: study.Config, Request: requestOf(task) + " " + task.Attempt.ID}
		default:
			e.Begun = &tune.Begun{Config: study.Config, Request: requestOf(task)}
		}
		return e, nil
	})
}

// reopens reports whether a job asks again for a study that is finished: one that failed before
// this job asked for it, or that another job had cancelled.
func reopens(study tune.Study, task worker.Task) bool {
	why := study.Finished.Why
	return why == tune.Cancelled || why == tune.Failing && !slices.Contains(study.Requests, requestOf(task))
}

func requestOf(task worker.Task) string { return task.Job.ID + " " + task.Job.Request }

// How long a tune job waits for the trials of others: with its slot, and then with the slot
// released, until it checks again.
const (
	waitWithSlot = 10 * time.Second
	waitLook     = time.Second // of a job that returns from the queue
	waitReleased = 4 * time.Second
)

// wait returns when the log has changed, and reports whether the study is over. A job that only
// waits soon releases its slot.
func (p *participant) wait(ctx context.Context) (settled bool, err error) {
	study, changed := p.Watch()
	if study.Settled() {
		return true, nil
	}
	if orphan, err := p.orphan(ctx, study); orphan || err != nil {
		return false, err
	}
	timer := time.NewTimer(p.patience())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, unavailable(context.Cause(ctx))
	case <-changed:
		return false, nil
	case <-timer.C:
		return false, p.release(ctx)
	}
}

// release releases the slot for other jobs until the study is over, or it is time to look for other
// work. If the worker has no other jobs, the job goes back to the queue.
func (p *participant) release(ctx context.Context) error {
	if p.task.WithoutSlot == nil {
		study := p.Now()
		return worker.Later{After: waitReleased, Why: fmt.Sprintf("%d trials run on other workers", len(study.Running()))}
	}
	p.released, p.worked = true, false
	return p.task.WithoutSlot(ctx, p.untilSettled)
}

// untilSettled returns when the study is over, or when it is time to check.
func (p *participant) untilSettled(ctx context.Context) error {
	look := time.NewTimer(waitReleased)
	defer look.Stop()
	for {
		study, changed := p.Watch()
		if study.Settled() {
			return nil
		}
		select {
		case <-ctx.Done():
			return unavailable(context.Cause(ctx))
		case <-changed:
		case <-look.C:
			return nil
		}
	}
}

// patience is longer for a job that has worked on a trial, because the others may end soon, too.
func (p *participant) patience() time.Duration {
	switch {
	case p.worked:
		return waitWithSlot
	case p.released: // the log was read all the time
		return 0
	case p.task.Attempt.Number > 1:
		return waitLook
	}
	return waitWithSlot
}

// orphan takes over a trial whose job is no longer on the queue, as after an operator purged it: no
// other job would.
func (p *participant) orphan(ctx context.Context, study tune.Study) (bool, error) {
	for _, trial := range study.Running() {
		_, err := p.bus.Queued(ctx, trial.Owner.Job)
		if !errors.Is(err, events.ErrNotFound) {
			continue
		}
		return true, p.Write(ctx, func(now tune.Study) (e tune.Entry, err error) {
			if search.Holds(now, trial.Owner, trial.ID) && now.Of(p.me.Job) == nil {
				e.Taken, p.orphaned = &tune.Taken{Trial: trial.ID, Owner: p.me, Worker: p.task.Worker.ID}, trial.ID
			}
			return e, nil
		})
	}
	return false, nil
}

// enqueued remembers when this participant enqueued each trial job of a study: a job that no worker
// has claimed since is still on the queue.
type enqueued map[int]time.Time

// enqueueAgain is how long a trial job is assumed to be on the queue or in progress.
const enqueueAgain = 3 * time.Second

// enqueue enqueues one trial job for each participant that is missing: a participant that has just
// begun a trial expects that there are more. A trial job that finds none is soon done; one that is
// on the queue is not enqueued twice. A lost one costs only time.
func (p *participant) enqueue(ctx context.Context, study tune.Study) {
	free := study.Free()
	if left := study.Remaining(); left >= 0 && !study.Config.Algorithm.HasEpochs() {
		free = min(free, left+waiting(study))
	}
	for n := 1; n < study.Config.Parallel && free > 0; n++ {
		job := trialJob(p.task.Job, p.Name().ID, n)
		if job.ID == p.task.Job.ID || study.Of(job.ID) != nil {
			continue
		}
		free--
		if time.Since(p.enqueued[n]) < enqueueAgain {
			continue
		}
		if err := p.bus.Enqueue(ctx, job); err != nil {
			p.log.WarnContext(ctx, "trial job not enqueued", "study", p.Name().ID, "number", n, "error", err)
			return
		}
		p.enqueued[n] = time.Now()
	}
}

// waiting returns the number of trials to be tried again.
func waiting(study tune.Study) (n int) {
	for _, t := range study.Trials {
		if t.Status == tune.Invalid {
			n++
		}
	}
	return n
}

// trialJob returns the n-th trial job of a study, the same for each participant that enqueues it.
// by is one of the study's jobs.
func trialJob(by events.Job, study string, n int) events.Job {
	job := by
	job.ID = events.DerivedID("trial", study, strconv.Itoa(n))
	job.Function = events.FunctionTrial
	job.Study = study
	return job
}

// endTime limits how long a study can be ended for after its job's own context has ended.
const endTime = 10 * time.Second

// last reports whether a job is given up with a failure, so that its study would not be published.
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

// endStudy ends the study of a job that is cancelled or given up, so that its participants stop,
// and gives back the trial that this job had. Another run that shares the study asks for it again.
// If the entry can't be appended, participants work on, in vain, until the study is over.
func (t *Tuner) endStudy(ctx context.Context, task worker.Task, failure *events.Failure) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	why := tune.Finished{Why: tune.Failing, Message: failure.Error()}
	if failure.Kind == events.FailureCancelled {
		why = tune.Finished{Why: tune.Cancelled}
	}
	why.Message = search.Beginning(why.Message, search.MaxMessage)
	log, id := t.executor.Log(task), hexOf(failure.Execution)
	l, err := studies.Open(ctx, t.bus, events.Study{Pipeline: task.Job.Pipeline, ID: id}, studies.Options{Prove: task.Prove, Logger: log})
	if err == nil {
		err = l.Write(ctx, func(study tune.Study) (tune.Entry, error) { return endOf(study, ownerOf(task), why), nil })
	}
	if err != nil {
		log.Warn("study of an ended job not ended", "study", id, "error", err)
	}
}

// endOf returns the entry that ends a study and the trial that a job has.
func endOf(study tune.Study, me tune.Owner, why tune.Finished) (e tune.Entry) {
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
