package tuner

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/worker"
)

// participant is a job's part in a study: it takes one trial after another from the log, and has
// the module train it. Tune jobs and trial jobs do the same, and know of each other only through
// the log.
type participant struct {
	*studies.Log
	bus     Bus
	log     *slog.Logger
	task    worker.Task
	me      tune.Owner
	attempt *execution.Attempt
	session *execution.Session // of all trials

	searching pipeline.Search
	base      module.Assignment // the part of the assignment that a search and its trials share
	enqueued  enqueued
	worked    bool   // on a trial, since it released its slot
	released  bool   // it released its slot, once
	orphaned  string // the trial that it took over because the trial's job was gone

	unfollow  context.CancelFunc
	following errgroup.Group
}

// join makes an attempt whose inputs are staged a participant of a study: it finds the module once
// for all trials, and follows the log until it leaves.
func (t *Tuner) join(ctx context.Context, a *execution.Attempt, l *studies.Log) (*participant, error) {
	base, err := baseOf(ctx, a)
	if err != nil {
		return nil, err
	}
	session, err := a.OpenSession(ctx, execution.SessionOptions{Reuse: true})
	if err != nil {
		return nil, err
	}
	p := &participant{
		Log: l, bus: t.bus, log: a.Execution.Log, task: a.Task, me: ownerOf(a.Task), attempt: a, session: session,
		searching: a.Execution.Spec.Search(), base: base, enqueued: enqueued{},
	}
	following, stop := context.WithCancel(ctx)
	p.unfollow = stop
	p.following.Go(func() error { l.Follow(following); return nil })
	return p, nil
}

func (p *participant) leave() {
	p.unfollow()
	_ = p.following.Wait()
	p.session.Close()
}

func ownerOf(task worker.Task) tune.Owner {
	return tune.Owner{Job: task.Job.ID, Attempt: task.Attempt.ID}
}

// baseOf returns the part of the assignment that a search and its trials share.
func baseOf(ctx context.Context, a *execution.Attempt) (module.Assignment, error) {
	search := a.Execution.Spec.Search()
	base, err := a.Assignment(ctx, search.TrainArgs, search.EvalArgs)
	base.Call = module.CallTrial
	base.CustomConfig = search.CustomConfig
	if search.Validated() {
		v := search.Study.Validation
		base.Validation = &module.Validation{Folds: v.Folds, Order: v.Order}
	}
	base.Strategy = search.Resources.Strategy
	base.Seed, base.Deterministic = search.Seed, bool(a.Execution.Spec.Trainer.Deterministic)
	return base, err
}

// search takes part until the study is over and none of its trials runs. alone is true if the
// module searches by itself, as the tuner_fn of a TFX module may; its whole search is in this one
// job.
func (p *participant) search(ctx context.Context) (alone bool, err error) {
	if p.Now().Entries == 0 {
		if alone, err := p.ask(ctx); alone || err != nil {
			return alone, err
		}
	}
	if err := begin(ctx, p.Log, p.task, nil); err != nil {
		return false, err
	}
	for {
		if err := p.work(ctx); err != nil {
			return false, err
		}
		if settled, err := p.wait(ctx); settled || err != nil {
			return false, err
		}
	}
}

// ask has the module tune. If the module says what to search for, ask begins a study with that;
// then the study's log holds the state of the search, and the execution's checkpoints are no longer
// needed.
func (p *participant) ask(ctx context.Context) (alone bool, err error) {
	if p.models() && p.session.IsTFX() {
		return false, execution.InputFailure(errors.New("tuner.study.best_model: the search of a TFX module writes no models: expected off"))
	}
	begun, err := p.tune(ctx)
	if err != nil {
		return false, err
	}
	if begun {
		p.attempt.RemoveCheckpoints(ctx)
		return false, nil
	}
	if p.searching.Study != nil {
		p.log.Warn("the module ran its own search: tuner.study of the pipeline had no effect", "module", p.attempt.Execution.Spec.Module)
	}
	return true, nil
}

// tune runs the module, and begins a study if the module says what to search for. If its search can
// be shared, its process then works on trials until there are none for it.
func (p *participant) tune(ctx context.Context) (begun bool, err error) {
	assignment := p.base // with the fields that only TFX's Tuner sets
	assignment.Call = module.CallTune
	assignment.BestHyperparametersDir = p.attempt.Workspace.Out(bestKey)
	assignment.TunerResultsDir = p.attempt.Workspace.Out(resultsKey)
	if p.shares() {
		return p.share(ctx, assignment)
	}
	return p.runTune(ctx, assignment)
}

// runTune runs the module's search in a process of its own.
func (p *participant) runTune(ctx context.Context, assignment module.Assignment) (begun bool, err error) {
	p.attempt.Report(events.Progress{Phase: "starting"})
	session, err := p.attempt.OpenSession(ctx, execution.SessionOptions{KeepLog: true})
	if err != nil {
		return false, err
	}
	defer session.Close()
	var refused error
	_, err = session.Run(ctx, assignment, func(m module.Message) {
		if m.Type == module.MessageStudy {
			begun, refused = true, p.begin(ctx, m.Study)
			return
		}
		p.attempt.Handle(m)
	})
	if refused != nil {
		return begun, refused
	}
	return begun, err
}

// begin begins the study that a module asks for, unless it exists.
func (p *participant) begin(ctx context.Context, wanted json.RawMessage) error {
	if p.Now().Entries > 0 {
		return nil
	}
	config, err := search.Config(wanted, p.searching)
	if err == nil {
		err = learn(p.attempt, &config)
	}
	if err != nil {
		return err
	}
	return begin(ctx, p.Log, p.task, &config)
}

// work takes trials until there is none for this participant at present.
func (p *participant) work(ctx context.Context) error {
	if !p.shares() {
		return p.trials(ctx)
	}
	if idle, err := p.idle(ctx); idle || err != nil {
		return err
	}
	_, err := p.tune(ctx)
	return err
}

// idle reports whether there is no trial for this participant at present, so that no process is
// started. It also appends the end of the study.
func (p *participant) idle(ctx context.Context) (idle bool, err error) {
	err = p.Write(ctx, func(study tune.Study) (tune.Entry, error) {
		e, err := search.Plan(study, p.me, nil, p.Time())
		if idle = e.Taken == nil && len(e.Started) == 0 && study.Of(p.me.Job) == nil; !idle {
			return tune.Entry{}, err
		}
		return p.signed(e), err
	})
	return idle, err
}

// signed adds to an entry which worker begins or takes over its trials.
func (p *participant) signed(e tune.Entry) tune.Entry {
	for i := range e.Started {
		e.Started[i].Worker = p.task.Worker.ID
	}
	if e.Taken != nil {
		e.Taken.Worker = p.task.Worker.ID
	}
	return e
}

// trials has the module train one trial after another.
func (p *participant) trials(ctx context.Context) error {
	var last *ending
	for {
		trial, err := p.next(ctx, last)
		if err != nil || trial == nil {
			return err
		}
		p.worked = true
		ended, err := p.try(ctx, *trial)
		if err != nil {
			return err
		}
		last = &ending{*ended, trial.Since()}
	}
}

// ending is how a try at a trial ended. The entry that began the try identifies it: after a failure
// the same attempt may have the trial's next try.
type ending struct {
	tune.Ended
	since int
}

// of reports whether an owner owns the try.
func (e *ending) of(study tune.Study, owner tune.Owner) bool {
	return search.Holds(study, owner, e.Trial) && study.Trial(e.Trial).Since() == e.since
}

// taken is a trial that this participant owns.
type taken struct {
	*tune.Trial
	over bool // another attempt had it before, and may have left a checkpoint
}

// next appends how the participant's last trial ended, if it had one, and takes the next; nil if
// there is none for it at present.
func (p *participant) next(ctx context.Context, last *ending) (*taken, error) {
	var wrote tune.Entry
	var report *tune.Ended
	if last != nil {
		report = &last.Ended
	}
	reported := false
	err := p.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		if report != nil && !last.of(study, p.me) {
			// The entry is lost forever, and another trial may get the number of the lost one.
			report = nil
		}
		if e, err = search.Plan(study, p.me, report, p.Time()); !e.Empty() {
			wrote, reported = e, reported || e.Ended != nil
		}
		return p.signed(e), err
	})
	if err != nil {
		return nil, err
	}
	if last != nil && !reported {
		p.dropped(last.Ended)
	}
	study := p.Now()
	p.task.Report(Progress(study))
	mine := study.Of(p.me.Job)
	if mine == nil || mine.Owner != p.me {
		return nil, nil
	}
	if len(wrote.Started) > 0 {
		p.enqueue(ctx, study)
	}
	return &taken{mine, wrote.Taken != nil || p.orphaned == mine.ID}, nil
}

// dropped logs that the end of a trial is not appended, because the log does not hold the trial as
// this attempt's.
func (p *participant) dropped(ended tune.Ended) {
	p.log.Warn("end of a trial ignored: according to the study's log, the trial belongs to another attempt", "study", p.Name().ID, "trial", ended.Trial,
		"status", ended.Status)
}
