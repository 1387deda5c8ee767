package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Key identifies a run.
type Key struct {
	Pipeline string `json:"pipeline"`
	Run      string `json:"run"`
}

// Run is what an Index knows of one run.
type Run struct {
	Summary
	Since    time.Time // when its first event was stored
	Join     join.Join
	HasJoin  bool // a dispatcher has handled an event of the run, and the join can be read
	Job      string
	Revision uint64    // of the pipeline, pinned when its events were complete
	Expires  time.Time // when it expires, if it waits for events
	Lease    Lease     // of Job; zero once the run is over
	Last     LastOutcome
	Result   Result
	Timeline *Timeline // with Options.Timelines
}

// Result summarizes the model of a run that is trained.
type Result struct {
	Took     time.Duration
	Cached   bool
	Metrics  map[string]float64
	ModelRun string
}

// Lease is the entry of a job in events.KVLeases; the zero Lease if there is none.
type Lease struct {
	events.Lease
	Written time.Time // by the bus's clock
	Err     error     // why it can't be read; it counts as held then
}

// Pipeline is a pipeline at one revision.
type Pipeline struct {
	Spec     pipeline.Pipeline
	Revision uint64
	Applied  time.Time // by the bus's clock
	Err      error     // why it can't be read
}

// Options say what an Index keeps.
type Options struct {
	Timelines bool // the events of each run
	// Limits the number of runs, and drops from joins what their events named; 0: keeps everything.
	MaxRuns int
}

// Index is what the log and the buckets contain about runs. The package comment is its contract.
type Index struct {
	opts       Options
	runs       map[Key]*record
	pipelines  map[string]Pipeline // as they are applied
	removed    map[string]time.Time
	pinned     map[need]Pipeline // at older revisions
	admissions map[string]admission
	leases     map[string]Lease
	buckets    map[string]*bucket
	lacks      needs
	tail       uint64    // sequence of the newest event
	clock      time.Time // the newest time at which the bus has written anything
	dropped    int
}

// record is one run. States are derived when they are read.
type record struct {
	since    time.Time
	join     join.Join
	joined   bool
	damage   error // why the join can't be read
	written  time.Time
	sequence uint64 // of its newest event
	last     LastOutcome
	result   Result
	params   Parameters // those of its search, or of its model
	timeline *Timeline
	artifacts
}

type admission struct {
	join.Admission
	err error
}

// bucket records which entries were applied.
type bucket struct {
	whole  bool            // an entry that was not applied does not exist
	absent map[string]bool // keys that were read and do not exist
	marks  map[string]mark
	pass   int // number of the present pass; each Begin starts one
}

type mark struct {
	revision uint64
	pass     int
}

// NewIndex returns an empty index.
func NewIndex(opts Options) *Index {
	x := &Index{
		opts: opts, runs: map[Key]*record{}, pipelines: map[string]Pipeline{}, removed: map[string]time.Time{}, pinned: map[need]Pipeline{},
		admissions: map[string]admission{}, leases: map[string]Lease{}, buckets: map[string]*bucket{},
	}
	x.lacks.set, x.lacks.added = map[need]bool{}, make(chan struct{}, 1)
	for _, name := range Buckets() {
		x.buckets[name] = &bucket{absent: map[string]bool{}, marks: map[string]mark{}}
	}
	return x
}

// Buckets returns the key-value buckets that an Index is made from.
func Buckets() []string {
	return []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases}
}

// ApplyEvent adds a message of the log. A message without a valid event belongs to no run.
func (x *Index) ApplyEvent(recorded events.Recorded) {
	x.tail = max(x.tail, recorded.Message.Sequence)
	x.saw(recorded.Message.Stored)
	if recorded.Err != nil {
		return
	}
	r := x.record(Key{recorded.Event.Pipeline, recorded.Event.Run})
	if r.sequence > 0 && recorded.Message.Sequence <= r.sequence {
		return
	}
	r.sequence = recorded.Message.Sequence
	if r.since.IsZero() || recorded.Message.Stored.Before(r.since) {
		r.since = recorded.Message.Stored
	}
	if output, ok := events.OutputOf(recorded.Event.Data); ok {
		r.has(output)
	}
	switch data := recorded.Event.Data.(type) {
	case *events.ModelTrained:
		for _, input := range data.Inputs {
			r.reads(input.URI)
		}
		r.last = r.last.Then(OutcomeOf(recorded))
		r.result = Result{data.Finished.Sub(data.Started), data.Cached, data.Metrics, data.ModelRun}
		r.params = parametersOf(data.Hyperparameters, data.Settings)
	case *events.HParamsReady:
		r.params = parametersOf(data.Values, nil)
	case *events.TrainingFailed:
		r.last = r.last.Then(OutcomeOf(recorded))
		if events.EndsRun(recorded.Event) {
			r.result = Result{}
		}
	default: // other events are not outcomes; they are in the timeline
	}
	if x.opts.Timelines {
		r.timeline.add(recorded)
	}
	x.prune()
}

// Begin starts a pass over all keys of a bucket, which End ends. An entry may go back in time at
// the beginning of a pass, because another server may answer.
func (x *Index) Begin(name string) { x.buckets[name].pass++ }

// End ends a pass: keys that were not applied since Begin do not exist.
func (x *Index) End(name string) {
	b := x.buckets[name]
	b.whole = true
	for key, m := range b.marks {
		if m.pass != b.pass {
			x.remove(name, key)
		}
	}
}

// Apply adds a value of a key of one of the Buckets, or its deletion. A value that is older than
// one that was applied since Begin is ignored; for a pipeline it is kept as an older revision.
func (x *Index) Apply(name string, entry events.Copy) {
	x.saw(entry.Written)
	b := x.buckets[name]
	if before := b.marks[entry.Key]; before.pass == b.pass && entry.Revision < before.revision {
		if name == events.KVPipelines && !entry.Deleted {
			x.pin(need{name, entry.Key, entry.Revision}, pipelineOf(events.Entry(entry)))
		}
		return
	}
	if entry.Deleted {
		if x.remove(name, entry.Key); name == events.KVPipelines {
			x.removed[entry.Key] = entry.Written
		}
		return
	}
	b.marks[entry.Key] = mark{entry.Revision, b.pass}
	switch name {
	case events.KVPipelines:
		x.replaced(entry.Key)
		delete(x.removed, entry.Key)
		x.pipelines[entry.Key] = pipelineOf(events.Entry(entry))
	case events.KVJoins:
		x.applyJoin(events.Entry(entry))
	case events.KVGates:
		if !strings.Contains(entry.Key, "/") { // otherwise it says when dispatchers swept last
			a := admission{}
			if err := json.Unmarshal(entry.Value, &a.Admission); err != nil {
				a.err = fmt.Errorf("read admission %s, revision %d: %w", entry.Key, entry.Revision, err)
			}
			x.admissions[entry.Key] = a
		}
	case events.KVLeases:
		held, err := events.DecodeLease(events.Entry(entry))
		x.leases[entry.Key] = Lease{held, entry.Written, err}
	}
}

// replaced keeps the pipeline that was applied before, at its revision, because runs have pinned
// it.
func (x *Index) replaced(name string) {
	if p, applied := x.pipelines[name]; applied {
		x.pin(need{events.KVPipelines, name, p.Revision}, p)
	}
}

func (x *Index) applyJoin(entry events.Entry) {
	name, run, ofRun := strings.Cut(entry.Key, "/")
	if !ofRun {
		return
	}
	r := x.record(Key{name, run})
	r.join, r.damage = dispatch.DecodeJoin(entry)
	r.joined, r.written = true, entry.Written
	for _, event := range r.join.Events {
		r.readsInputs(event.Inputs)
	}
	if x.opts.MaxRuns > 0 {
		for i := range r.join.Events {
			r.join.Events[i].Inputs = events.Inputs{}
		}
		for i := range r.join.Stages {
			r.join.Stages[i].Latest = join.Latest{}
		}
	}
	if first := r.join.Events; len(first) > 0 && (r.since.IsZero() || first[0].Stored.Before(r.since)) {
		r.since = first[0].Stored
	}
	x.prune()
}

func (x *Index) remove(name, key string) {
	delete(x.buckets[name].marks, key)
	if b := x.buckets[name]; !b.whole {
		b.absent[key] = true
	}
	switch name {
	case events.KVPipelines:
		x.replaced(key)
		delete(x.pipelines, key)
	case events.KVGates:
		delete(x.admissions, key)
	case events.KVLeases:
		delete(x.leases, key)
	case events.KVJoins:
		name, run, _ := strings.Cut(key, "/")
		if r := x.runs[Key{name, run}]; r != nil {
			r.join, r.joined, r.damage = join.Join{}, false, nil
		}
	}
}

func (x *Index) record(key Key) *record {
	r := x.runs[key]
	if r == nil {
		r = &record{}
		if x.opts.Timelines {
			r.timeline = &Timeline{}
		}
		x.runs[key] = r
	}
	return r
}

func (x *Index) saw(at time.Time) {
	if at.After(x.clock) {
		x.clock = at
	}
}

// prune drops the runs that ended longest ago; if all are active, the least recently updated.
func (x *Index) prune() {
	if x.opts.MaxRuns == 0 || len(x.runs) <= x.opts.MaxRuns+x.opts.MaxRuns/20 {
		return
	}
	all := slices.SortedFunc(x.States(), func(a, b Summary) int {
		if a.Over() != b.Over() {
			return map[bool]int{true: -1, false: 1}[a.Over()]
		}
		return a.Updated.Compare(b.Updated)
	})
	for _, run := range all[:len(all)-x.opts.MaxRuns] {
		delete(x.runs, run.Key())
		x.dropped++
	}
}

// Dropped returns the number of runs that were dropped because of Options.MaxRuns.
func (x *Index) Dropped() int { return x.dropped }

// Tail returns the sequence of the newest event that was applied.
func (x *Index) Tail() uint64 { return x.tail }

// Clock returns a time that the clock of the bus has reached.
func (x *Index) Clock() time.Time { return x.clock }

// Len returns the number of runs.
func (x *Index) Len() int { return len(x.runs) }

// Keys returns the runs, in no order.
func (x *Index) Keys() iter.Seq[Key] { return maps.Keys(x.runs) }

// States returns the summaries of all runs, in no order.
func (x *Index) States() iter.Seq[Summary] {
	return func(yield func(Summary) bool) {
		for key, r := range x.runs {
			if !yield(x.stateOf(key, r)) {
				return
			}
		}
	}
}

// Removed returns when a pipeline was removed; false if it is applied, never was, or no pass over
// the bucket with deletions has reached it.
func (x *Index) Removed(name string) (time.Time, bool) {
	at, was := x.removed[name]
	return at, was
}

// Run returns a run; false if the index has nothing about it.
func (x *Index) Run(key Key) (Run, bool) {
	r := x.runs[key]
	if r == nil {
		return Run{Summary: Summary{Pipeline: key.Pipeline, Run: key.Run}}, false
	}
	run := Run{
		Summary: x.stateOf(key, r), Since: r.since, Last: r.last, Result: r.result, Timeline: r.timeline,
		Join: r.join, HasJoin: r.joined && r.damage == nil,
	}
	if !run.HasJoin {
		return run, true
	}
	current := r.join.Current()
	run.Job, run.Revision = current.Job, current.Revision
	if run.State == Waiting {
		if spec, err := x.spec(key.Pipeline, r.join.Stage(events.FunctionTrain).Revision); err == nil {
			run.Expires, _ = r.join.Deadline(spec)
		}
	}
	if !run.Over() && run.Job != "" {
		run.Lease, _ = x.lease(run.Job)
	}
	return run, true
}

// JoinOf returns the join of a run; false if it has none. The error says why it can't be read.
func (x *Index) JoinOf(key Key) (j join.Join, has bool, err error) {
	r := x.runs[key]
	if r == nil || !r.joined {
		return j, false, nil
	}
	return r.join, true, r.damage
}

// Timeline returns the timeline of a run; nil without Options.Timelines, or if the index has
// nothing about it.
func (x *Index) Timeline(key Key) *Timeline {
	if r := x.runs[key]; r != nil {
		return r.timeline
	}
	return nil
}

// LastOutcome returns the last outcome of a run in the log.
func (x *Index) LastOutcome(key Key) (last LastOutcome) {
	if r := x.runs[key]; r != nil {
		last = r.last
	}
	return last
}

// Leases returns the leases of all jobs, by job, in no order.
func (x *Index) Leases() iter.Seq2[string, Lease] { return maps.All(x.leases) }

// Applied returns the pipelines that are applied, by name, in no order.
func (x *Index) Applied() iter.Seq2[string, Pipeline] { return maps.All(x.pipelines) }

// Pipeline returns a pipeline as it is applied; false if it is not.
func (x *Index) Pipeline(name string) (Pipeline, bool) {
	p, applied := x.pipelines[name]
	return p, applied
}

// Admission returns the admission of a pipeline; an open one if there is none.
func (x *Index) Admission(name string) join.Admission { return x.admissions[name].Admission }

// Ignored sets, for each event of a run, why it has no effect on the run; "" if it has one, or may
// still have one. all must have every event of the run in the log. The dispatcher logged the same
// when it handled the event.
func (x *Index) Ignored(key Key, all []Event) {
	r := x.runs[key]
	if r == nil || r.damage != nil {
		return
	}
	j := r.join
	if !r.joined {
		j = join.New(key.Pipeline, key.Run)
	}
	spec, err := x.spec(key.Pipeline, 0)
	if err != nil {
		spec = pipeline.Pipeline{} // it was removed, or can't be read: then the join alone decides
	}
	ids := map[string]bool{}
	for _, e := range all {
		ids[e.ID] = true
	}
	for i, e := range all {
		switch {
		case !e.counts:
		case ids[e.refusal] && !j.Has(e.pinned):
			all[i].Ignored = "it was refused"
		default:
			all[i].Ignored = j.Ignored(spec, e.pinned)
		}
	}
}

// need is an entry that a state depends on: the newest value of a key, or an older one.
type need struct {
	bucket, key string
	revision    uint64
}

// needs is a set of them. Readers of an Index add to it, possibly several goroutines at once.
type needs struct {
	mu    sync.Mutex
	set   map[need]bool
	added chan struct{} // has an item if something was added
}

func (n *needs) add(one need) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.set[one] = true
	select {
	case n.added <- struct{}{}:
	default:
	}
}

// take empties the set and returns its content.
func (n *needs) take() []need {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.Collect(maps.Keys(n.set))
	clear(n.set)
	return all
}

var errNotRead = errors.New("it is being read")

// lack returns errNotRead for an entry that has not been read yet, and adds it to the needs; nil
// for one that does not exist.
func (x *Index) lack(name, key string) error {
	if b := x.buckets[name]; b.whole || b.absent[key] {
		return nil
	}
	x.lacks.add(need{name, key, 0})
	return fmt.Errorf("%s %s: %w", name, key, errNotRead)
}

func (x *Index) lease(job string) (Lease, error) {
	if held, there := x.leases[job]; there || job == "" {
		return held, nil
	}
	return Lease{}, x.lack(events.KVLeases, job)
}

func (x *Index) admission(name string) (join.Admission, error) {
	if a, there := x.admissions[name]; there {
		return a.Admission, a.err
	}
	return join.Admission{}, x.lack(events.KVGates, name)
}

// spec returns a pipeline at a revision; 0 is the one that is applied.
func (x *Index) spec(name string, revision uint64) (pipeline.Pipeline, error) {
	p, applied := x.pipelines[name]
	switch {
	case applied && (revision == 0 || revision == p.Revision):
		return p.Spec, p.check(name)
	case revision == 0:
		if err := x.lack(events.KVPipelines, name); err != nil {
			return pipeline.Pipeline{}, err
		}
		return pipeline.Pipeline{}, fmt.Errorf("read pipeline %s: %w", name, events.ErrNotFound)
	}
	at := need{events.KVPipelines, name, revision}
	if p, read := x.pinned[at]; read {
		return p.Spec, p.check(name)
	}
	x.lacks.add(at)
	return pipeline.Pipeline{}, fmt.Errorf("pipeline %s, revision %d: %w", name, revision, errNotRead)
}

// maxPinned limits how many older revisions of pipelines a Watch keeps.
const maxPinned = 500

// applyNeed adds the answer to a need; err is nil or events.ErrNotFound.
func (x *Index) applyNeed(n need, entry events.Entry, err error) {
	switch {
	case n.revision > 0:
		p := pipelineOf(entry)
		if err != nil {
			p = Pipeline{Revision: n.revision, Err: err}
		}
		x.pin(n, p)
	case err != nil:
		x.remove(n.bucket, n.key)
	default:
		x.Apply(n.bucket, events.Copy(entry))
	}
}

func (x *Index) pin(n need, p Pipeline) {
	if x.opts.MaxRuns > 0 && len(x.pinned) >= maxPinned {
		clear(x.pinned)
	}
	x.pinned[n] = p
}

func pipelineOf(entry events.Entry) Pipeline {
	p := Pipeline{Revision: entry.Revision, Applied: entry.Written}
	p.Spec, _, p.Err = pipeline.FromEntry(entry.Value)
	return p
}

// check returns the error of a pipeline that can't be read.
func (p Pipeline) check(name string) error {
	if p.Err == nil {
		return nil
	}
	return fmt.Errorf("read pipeline %s, revision %d: %w", name, p.Revision, p.Err)
}
