// Package query answers the questions of commands about runs: which run a name means, everything
// that is known of one, how it ends, the study that belongs to it, and the models in use. It reads
// the index of functions/runs. Read Of first.
package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/storage"
)

// Detail is everything that is known of a run.
type Detail struct {
	runs.Summary
	Events  []runs.Event `json:"events"`
	Since   time.Time    `json:"since,omitzero"`   // of the first event
	Expires time.Time    `json:"expires,omitzero"` // when it expires, if it waits for events
	Job     string       `json:"job,omitempty"`
	// The search that found, or is to find, its hyperparameters.
	Study  string  `json:"study,omitempty"`
	Reused bool    `json:"reused,omitempty"` // the study is another run's
	Search *Search `json:"search,omitempty"` // its result, once it has one
	// Of the pipeline, pinned when its events were complete.
	Revision uint64        `json:"revision,omitempty"`
	Lease    *events.Lease `json:"lease,omitempty"`
	// The last one of its worker, by the bus's clock.
	Heartbeat  time.Time        `json:"heartbeat,omitzero"`
	Progress   *events.Progress `json:"progress,omitempty"` // the last report of its worker
	DeadLetter uint64           `json:"dead_letter,omitempty"`
	Outcome    json.RawMessage  `json:"outcome,omitempty"`

	// The pipeline at Revision, with every default filled in and secrets hidden.
	Configuration json.RawMessage `json:"configuration,omitempty"`

	// Settings that its model was trained with, defaults included, as the module reports them.
	Settings json.RawMessage `json:"settings,omitempty"`

	Trained *events.ModelTrained `json:"-"` // the model of Outcome, if it is one
	// Or the failure; its log is that of the search if the run ended with its tuning.
	Failed          events.Failed `json:"-"`
	EndedWithoutJob bool          `json:"-"` // its dead letters can't be retried
}

// Search is the result of a search compared with the model that was trained with it. They may
// differ: other steps, another seed, more data.
type Search struct {
	Objective string   `json:"objective"`
	Best      float64  `json:"best"`            // of the best trial
	Model     *float64 `json:"model,omitempty"` // of the model, if it reports that metric
}

// searchOf returns nil for a run without a search, or with one that tells no score.
func searchOf(hparams *events.HParamsReady, trained *events.ModelTrained) *Search {
	if hparams == nil || hparams.Score == nil || hparams.Objective == "" {
		return nil
	}
	s := &Search{Objective: hparams.Objective, Best: *hparams.Score}
	if trained == nil {
		return s
	}
	for _, name := range []string{s.Objective, strings.TrimPrefix(s.Objective, "val_"), "val_" + s.Objective} {
		if value, ok := trained.Metrics[name]; ok {
			s.Model = &value
			break
		}
	}
	return s
}

func (s *Search) String() string {
	text := fmt.Sprintf("best trial: %s %.4g", s.Objective, s.Best)
	if s.Model != nil {
		text += fmt.Sprintf("; this model: %.4g", *s.Model)
	}
	return text
}

// Of returns a run's state and history, from the log, the buckets and the dead letters. The leaders
// answer for the log and the buckets; the list of dead letters is a copy.
func Of(ctx context.Context, bus events.Bus, key runs.Key) (Detail, error) {
	s := runs.Open(bus, runs.Options{Timelines: true})
	run, err := s.Load(ctx, key)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return Detail{}, err
	}
	if run.Timeline == nil {
		run.Timeline, run.State = &runs.Timeline{}, runs.Waiting
	}
	d := Detail{Summary: run.Summary, Events: run.Timeline.Events, Since: run.Since, Expires: run.Expires, Job: run.Job, Revision: run.Revision}
	if _, err := s.ReadPipeline(ctx, key.Pipeline, 0); ctx.Err() != nil {
		return d, err // any other error is one of the pipeline: then the join alone decides
	}
	s.Ignored(key, d.Events)
	d.addTimeline(run.Timeline)
	if d.State == runs.Unclear {
		return d, nil
	}
	if lease := run.Lease; lease.Number > 0 {
		d.Lease = &lease.Lease
		if lease.Holder != "" {
			d.Heartbeat = lease.Written
		}
	}
	err = d.readDead(ctx, bus)
	if run.HasJoin {
		err = errors.Join(err, d.readConfiguration(ctx, s), d.readStudy(ctx, bus, run), d.readProgress(ctx, bus))
	}
	return d, err
}

func (d *Detail) addTimeline(t *runs.Timeline) {
	d.Trained, d.EndedWithoutJob = t.Trained(), t.EndedWithoutJob()
	if t.Failed != nil {
		d.Failed = *t.Failed
	}
	if t.HParams != nil {
		d.Reused, d.Search = t.HParams.Reused, searchOf(t.HParams, d.Trained)
	}
	if t.Outcome != nil {
		d.Outcome = mask.JSON(runs.JSON(t.Outcome.Event))
	}
	if d.Trained != nil {
		d.Settings = d.Trained.Settings
	}
}

// readConfiguration reads the pipeline that the run is trained with: at the revision that was
// pinned when its events were complete. If the bus has lost the revision, there is none.
func (d *Detail) readConfiguration(ctx context.Context, s *runs.Snapshot) error {
	if d.Revision == 0 {
		return nil
	}
	p, err := s.ReadPipeline(ctx, d.Pipeline, d.Revision)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	d.Configuration, err = p.Spec.Masked()
	return err
}

// readStudy finds the search that the run's hyperparameters come from. A run whose module searches
// by itself, or that is not tuned, has none.
func (d *Detail) readStudy(ctx context.Context, bus events.StudyLog, run runs.Run) error {
	study, err := studyOf(ctx, bus, run)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	d.Study = study.ID
	return err
}

// readDead finds the newest dead letter of the run.
func (d *Detail) readDead(ctx context.Context, bus events.DeadLetterQueue) error {
	deadLetters, err := replay.DeadLetters(ctx, bus)
	for _, deadLetter := range deadLetters {
		if deadLetter.Pipeline == d.Pipeline && deadLetter.Run == d.Run {
			d.DeadLetter = deadLetter.Number
		}
	}
	return err
}

// progressKeeper is a bus that keeps the last progress of each job.
type progressKeeper interface {
	LastProgress(ctx context.Context, pipeline, run, job string) (events.Progress, error)
}

func (d *Detail) readProgress(ctx context.Context, bus events.Bus) error {
	keeper, ok := bus.(progressKeeper)
	if !ok || d.State != runs.Running && d.State != runs.Tuning {
		return nil
	}
	p, err := keeper.LastProgress(ctx, d.Pipeline, d.Run, d.Job)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	d.Progress = &p
	return err
}

// Last is the sequence of the newest event of the run that was read.
func (d Detail) Last() uint64 {
	if len(d.Events) == 0 {
		return 0
	}
	return d.Events[len(d.Events)-1].Sequence
}

// Several is the error for a run's name that more than one pipeline has.
type Several struct {
	Run       string
	Pipelines []string
}

func (s *Several) Error() string {
	return fmt.Sprintf("run %s: several pipelines have a run with this name: %s", s.Run, strings.Join(s.Pipelines, ", "))
}

// Run finds a run, of the named pipeline or, for "", of the only one that has an event of such a
// run: else the error is a *Several. Without an event it is events.ErrNotFound.
func Run(ctx context.Context, log runs.Source, pipeline, run string) (runs.Key, error) {
	pipelines := map[string]bool{}
	for recorded, err := range log.Read(ctx, events.Query{Pipeline: pipeline, Run: run}) {
		if err != nil {
			return runs.Key{}, err
		}
		if recorded.Err == nil {
			pipelines[recorded.Event.Pipeline] = true
		}
	}
	names := slices.Sorted(maps.Keys(pipelines))
	switch {
	case len(names) == 1:
		return runs.Key{Pipeline: names[0], Run: run}, nil
	case len(names) > 1:
		return runs.Key{}, &Several{run, names}
	}
	return runs.Key{}, fmt.Errorf("no event of run %s: %w", run, events.ErrNotFound)
}

// End waits for the first event behind a sequence that ends a run.
func End(ctx context.Context, log runs.Source, key runs.Key, behind uint64) (runs.Summary, error) {
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: key.Pipeline, Run: key.Run, From: behind + 1, Follow: true}
	for recorded, err := range log.Read(ctx, query) {
		if err != nil {
			return runs.Summary{}, err
		}
		if recorded.Err == nil && events.EndsRun(recorded.Event) {
			return runs.Outcome(recorded), nil
		}
	}
	return runs.Summary{}, context.Cause(ctx)
}

// Study is the study of PIPELINE/RUN, the newest of a pipeline, or the one whose id begins with
// word.
func Study(ctx context.Context, bus events.Bus, word string) (events.Study, error) {
	if pipeline, run, both := strings.Cut(word, "/"); both {
		found, err := runs.Load(ctx, bus, runs.Key{Pipeline: pipeline, Run: run})
		if err != nil {
			return events.Study{}, err
		}
		return studyOf(ctx, bus, found)
	}
	var newest events.Study
	for entry, err := range bus.Studies(ctx, "") {
		if err != nil {
			return newest, err
		}
		if entry.Study.Pipeline == word {
			newest = entry.Study
		}
	}
	if newest.ID != "" {
		return newest, nil
	}
	return studies.Find(ctx, bus, word)
}

// studyOf is the study that a run's tune job searches, or the one of its hyperparameters: another
// run's, or an older one. A run without a join has none.
func studyOf(ctx context.Context, bus events.StudyLog, run runs.Run) (events.Study, error) {
	if !run.HasJoin {
		return events.Study{}, fmt.Errorf("join of run %s of pipeline %s: %w", run.Run, run.Pipeline, events.ErrNotFound)
	}
	if job := run.Join.Stage(events.FunctionTune).Job; job != "" {
		study, err := studies.OfJob(ctx, bus, run.Pipeline, job)
		if !errors.Is(err, events.ErrNotFound) {
			return study, err
		}
	}
	address := ""
	if run.Timeline.HParams != nil {
		address = run.Timeline.HParams.Study
	}
	return studies.At(ctx, bus, run.Pipeline, address)
}

// ModelsInUse returns the models that pipelines start from, and the inputs of runs that have no
// outcome yet. Pipelines, and runs that are waiting by a listing, are read from the leader of the
// bus, because a listing may be old.
func ModelsInUse(ctx context.Context, bus events.Bus) ([]storage.Ref, error) {
	var refs []storage.Ref
	add := func(uri string) {
		// None, latest and blessed are no addresses.
		if ref, err := storage.ParseRef(uri); err == nil {
			refs = append(refs, ref)
		}
	}
	s := runs.Open(bus, runs.Options{})
	err := s.ReadLog(ctx, events.Query{Kinds: events.OutcomeKinds()}, nil)
	if err == nil {
		err = s.List(ctx, events.KVPipelines, events.KVJoins)
	}
	if err != nil {
		return nil, err
	}
	for name := range maps.Collect(s.Applied()) {
		p, err := s.ReadPipeline(ctx, name, 0)
		if errors.Is(err, events.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		add(p.Spec.Trainer.BaseModel)
		if p.Spec.Trainer.BaseModel == pipeline.BaseModelBlessed {
			blessed, err := dispatch.Blessed(ctx, bus, p.Spec.Name, 0)
			if err != nil {
				return nil, err
			}
			add(blessed)
		}
	}
	for key := range s.Keys() {
		j, has, err := s.JoinOf(key)
		if has && err == nil && j.State == join.Waiting {
			if _, err = s.Join(ctx, key); err == nil || errors.Is(err, events.ErrNotFound) {
				j, has, err = s.JoinOf(key)
			}
		}
		if err != nil {
			return nil, err
		}
		run, _ := s.Run(key)
		if train := j.Stage(events.FunctionTrain); has && run.Last.Ends() <= train.After {
			add(train.Latest.BaseModel)
		}
	}
	return refs, nil
}
