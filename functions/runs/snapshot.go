package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// Source is the part of a bus that an Index is made from.
type Source interface {
	events.KVBuckets
	// As in events.EventLog.
	Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error]
}

// Snapshot is an Index that is read once. The package comment says what each method reads.
type Snapshot struct {
	*Index
	source Source
	opened map[string]events.KV
}

// Open returns an empty snapshot. It reads nothing, so its credentials must permit only what is
// read later.
func Open(source Source, opts Options) *Snapshot {
	return &Snapshot{Index: NewIndex(opts), source: source, opened: map[string]events.KV{}}
}

// List returns the states of all runs of a pipeline, "" for any, the most recently updated first,
// according to their outcomes in the log and the listed buckets. A run whose join can't be read is
// Unclear, and does not affect others.
func List(ctx context.Context, source Source, pipeline string) ([]Summary, error) {
	s := Open(source, Options{})
	err := s.List(ctx, Buckets()...)
	if err == nil {
		kinds := append(events.OutcomeKinds(), events.KindHParamsReady) // which has parameters
		err = s.ReadLog(ctx, events.Query{Pipeline: pipeline, Kinds: kinds}, nil)
	}
	list := []Summary{}
	if err == nil {
		err = s.resolve(ctx, func() {
			list = list[:0]
			for key, r := range s.runs {
				if pipeline == "" || key.Pipeline == pipeline {
					list = append(list, s.stateOf(key, r))
				}
			}
		})
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Run, b.Run))
	})
	return list, err
}

// Pipelines returns the names of the pipelines that are applied, in order, as a copy of their
// bucket has them.
func Pipelines(ctx context.Context, source Source) ([]string, error) {
	s := Open(source, Options{})
	if err := s.List(ctx, events.KVPipelines); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(s.pipelines)), nil
}

// Load returns a run and its timeline, as the leaders have them; events.ErrNotFound if there is
// neither an event of it nor a join.
func Load(ctx context.Context, source Source, key Key) (Run, error) {
	return Open(source, Options{Timelines: true}).Load(ctx, key)
}

// Load is the function Load. It keeps what the snapshot has read before.
func (s *Snapshot) Load(ctx context.Context, key Key) (Run, error) {
	if _, err := s.Join(ctx, key); err != nil && !errors.Is(err, events.ErrNotFound) {
		return Run{}, err
	}
	if _, err := s.Get(ctx, key); err != nil && !errors.Is(err, events.ErrNotFound) {
		return Run{}, err
	}
	if err := s.ReadLog(ctx, events.Query{Pipeline: key.Pipeline, Run: key.Run}, nil); err != nil {
		return Run{}, err
	}
	return s.Get(ctx, key)
}

// Get returns a run from what was read before, and reads the entries that its state depends on.
func (s *Snapshot) Get(ctx context.Context, key Key) (run Run, err error) {
	known := false
	err = s.resolve(ctx, func() { run, known = s.Run(key) })
	if err == nil && !known {
		err = fmt.Errorf("run %s of pipeline %s: %w", key.Run, key.Pipeline, events.ErrNotFound)
	}
	return run, err
}

// resolve calls derive until it needs no further entry.
func (s *Snapshot) resolve(ctx context.Context, derive func()) error {
	for {
		derive()
		lacking := s.lacks.take()
		if len(lacking) == 0 {
			return nil
		}
		for _, n := range lacking {
			if err := s.read(ctx, n); err != nil {
				return err
			}
		}
	}
}

// read reads an entry from the leader of a bucket. The absence of an entry is recorded in the
// Index.
func (s *Snapshot) read(ctx context.Context, n need) error {
	kv, err := s.open(ctx, n.bucket)
	if err != nil {
		return err
	}
	return s.ask(ctx, kv, n)
}

func (x *Index) ask(ctx context.Context, kv events.KV, n need) (err error) {
	var entry events.Entry
	if n.revision > 0 {
		entry, err = kv.Revision(ctx, n.key, n.revision)
	} else {
		entry, err = kv.Get(ctx, n.key)
	}
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return fmt.Errorf("read %s of %s: %w", n.key, n.bucket, err)
	}
	x.applyNeed(n, entry, err)
	return nil
}

func (s *Snapshot) open(ctx context.Context, name string) (events.KV, error) {
	if kv := s.opened[name]; kv != nil {
		return kv, nil
	}
	kv, err := s.source.KV(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	s.opened[name] = kv
	return kv, nil
}

// Join reads the join of a run; events.ErrNotFound if no dispatcher has handled an event of the
// run, or if the entry is no join of the run.
func (s *Snapshot) Join(ctx context.Context, key Key) (join.Join, error) {
	if err := s.read(ctx, need{events.KVJoins, dispatch.JoinKey(key.Pipeline, key.Run), 0}); err != nil {
		return join.Join{}, err
	}
	r := s.runs[key]
	switch {
	case r == nil || !r.joined:
		return join.Join{}, fmt.Errorf("read join %s: %w", dispatch.JoinKey(key.Pipeline, key.Run), events.ErrNotFound)
	case r.damage != nil:
		return join.Join{}, fmt.Errorf("%w: %w", events.ErrNotFound, r.damage)
	}
	return r.join, nil
}

// ReadPipeline reads a pipeline at a revision; 0 is the one that is applied. events.ErrNotFound if
// it is not applied, or the revision is not kept.
func (s *Snapshot) ReadPipeline(ctx context.Context, name string, revision uint64) (Pipeline, error) {
	n := need{events.KVPipelines, name, revision}
	p, read := s.pinned[n]
	if !read {
		if err := s.read(ctx, n); err != nil {
			return p, err
		}
		if revision == 0 {
			p, read = s.pipelines[name]
		} else {
			p, read = s.pinned[n]
		}
	}
	if !read {
		return p, fmt.Errorf("read pipeline %s: %w", name, events.ErrNotFound)
	}
	return p, p.check(name)
}

// AppliedPipeline reads the pipeline that is applied. It returns events.ErrNotFound only after
// Sync.
func (s *Snapshot) AppliedPipeline(ctx context.Context, name string) (Pipeline, error) {
	p, err := s.ReadPipeline(ctx, name, 0)
	if errors.Is(err, events.ErrNotFound) {
		if err = s.Sync(ctx, events.KVPipelines); err == nil {
			p, err = s.ReadPipeline(ctx, name, 0)
		}
	}
	return p, err
}

// ReadAdmission reads the admission of a pipeline, once; an open one if there is none.
func (s *Snapshot) ReadAdmission(ctx context.Context, name string) (a join.Admission, err error) {
	reading := s.resolve(ctx, func() { a, err = s.admission(name) })
	return a, errors.Join(reading, err)
}

// ReadLease reads the lease of a job; false if there is none.
func (s *Snapshot) ReadLease(ctx context.Context, job string) (Lease, bool, error) {
	err := s.read(ctx, need{events.KVLeases, job, 0})
	held, there := s.leases[job]
	return held, there, err
}

// Sync makes later reads of a bucket linearizable.
func (s *Snapshot) Sync(ctx context.Context, name string) error {
	kv, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	return kv.Sync(ctx)
}

// List adds copies of all entries of buckets. It must be called before other reads of them.
func (s *Snapshot) List(ctx context.Context, buckets ...string) error {
	for _, name := range buckets {
		kv, err := s.open(ctx, name)
		if err != nil {
			return err
		}
		s.Begin(name)
		for entry, err := range kv.All(ctx) {
			if err != nil {
				return fmt.Errorf("list %s: %w", name, err)
			}
			s.Apply(name, entry)
		}
		s.End(name)
	}
	return nil
}

// ReadLog adds the events of the log that a query selects, and calls also for each message. Without
// From it starts at the beginning.
func (s *Snapshot) ReadLog(ctx context.Context, query events.Query, also func(events.Recorded)) error {
	for recorded, err := range s.source.Read(ctx, query) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		s.ApplyEvent(recorded)
		if also != nil {
			also(recorded)
		}
	}
	return nil
}
