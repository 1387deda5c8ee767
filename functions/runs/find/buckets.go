package find

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// registers are the buckets that hold runs without an outcome.
type buckets struct {
	joins, pipelines, leases events.KV
	gates                    *gates
	held                     map[string]runs.Lease // by job, once readLeases was called
}

func openBuckets(ctx context.Context, bus events.Bus) (r buckets, err error) {
	for name, kv := range map[string]*events.KV{
		events.KVJoins: &r.joins, events.KVPipelines: &r.pipelines, events.KVLeases: &r.leases,
	} {
		if *kv, err = bus.KV(ctx, name); err != nil {
			return r, err
		}
	}
	r.gates = &gates{bus: bus, seen: map[string]join.Admission{}}
	return r, nil
}

// asked implements runs.Source by the buckets.
type asked struct {
	ctx context.Context
	buckets
}

var _ runs.Source = asked{}

func (a asked) Spec(name string, revision uint64) (pipeline.Pipeline, error) {
	return dispatch.SpecAt(a.ctx, a.pipelines, name, revision)
}
func (a asked) Gate(name string) (join.Admission, error) { return a.gates.of(a.ctx, name) }
func (a asked) Lease(job string) (runs.Lease, error)     { return a.lease(a.ctx, job) }

func readLease(entry events.Entry) (runs.Lease, error) {
	found, err := events.DecodeLease(entry)
	return runs.Lease{Lease: found, Written: entry.Written}, err
}

// lease is the lease of a job; the zero lease if there is none.
func (r buckets) lease(ctx context.Context, job string) (l runs.Lease, err error) {
	if r.held != nil || job == "" {
		return r.held[job], nil
	}
	entry, err := r.leases.Get(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	return readLease(entry)
}

// readLeases reads all leases at once, for callers that need many.
func (r *buckets) readLeases(ctx context.Context) error {
	r.held = map[string]runs.Lease{}
	for entry, err := range r.leases.All(ctx) {
		if err != nil {
			return err
		}
		if r.held[entry.Key], err = readLease(events.Entry(entry)); err != nil {
			return err
		}
	}
	return nil
}

// gates reads each pipeline's admission once.
type gates struct {
	bus  events.Bus
	seen map[string]join.Admission
}

func (g *gates) of(ctx context.Context, pipeline string) (join.Admission, error) {
	gate, known := g.seen[pipeline]
	if known {
		return gate, nil
	}
	gate, err := dispatch.ReadAdmission(ctx, g.bus, pipeline)
	if err == nil {
		g.seen[pipeline] = gate
	}
	return gate, err
}
