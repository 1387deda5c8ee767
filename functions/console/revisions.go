package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// revision is a pipeline at one of its revisions.
type revision struct {
	pipeline string
	number   uint64
}

var errNotRead = errors.New("the pipeline is being read")

// revisions is a set of them. Its methods may be called from several goroutines.
type revisions struct {
	mu  sync.Mutex
	set map[revision]bool
}

func (r *revisions) add(at revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set == nil {
		r.set = map[revision]bool{}
	}
	r.set[at] = true
}

func (r *revisions) drop(at revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set, at)
}

func (r *revisions) list() []revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.set))
}

// known is the model as a runs.Source; the caller holds the lock, for reading at least.
type known struct{ m *model }

func (k known) Spec(name string, number uint64) (pipeline.Pipeline, error) {
	newest, applied := k.m.specs[name]
	if applied && (number == 0 || number == newest.revision) {
		if newest.bad != "" {
			return newest.spec, errors.New(newest.bad)
		}
		return newest.spec, nil
	}
	if number == 0 {
		return pipeline.Pipeline{}, fmt.Errorf("pipeline %s is not applied", name)
	}
	at := revision{name, number}
	if spec, there := k.m.older[at]; there {
		return spec, nil
	}
	k.m.lacks.add(at)
	return pipeline.Pipeline{}, errNotRead
}

// configuration is a pipeline at a revision as JSON, with its defaults and without its secrets; ""
// if there is none, or it can't be read.
func (c *Console) configuration(ctx context.Context, name string, number uint64) string {
	if number == 0 {
		return ""
	}
	spec, there := c.model.specAt(revision{name, number})
	if !there {
		var err error
		if spec, err = c.readRevision(ctx, revision{name, number}); err != nil {
			c.opts.Logger.Info("revision of a pipeline not read", "pipeline", name, "revision", number, "error", err)
			return ""
		}
	}
	text, err := spec.Masked()
	if err != nil {
		return ""
	}
	return indented(text)
}

// specAt is a pipeline at a revision, if that has been read.
func (m *model) specAt(at revision) (pipeline.Pipeline, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if newest, applied := m.specs[at.pipeline]; applied && newest.revision == at.number {
		return newest.spec, newest.bad == ""
	}
	spec, there := m.older[at]
	return spec, there && spec.Name != ""
}

// readRevision reads it from the bus, and keeps it.
func (c *Console) readRevision(ctx context.Context, at revision) (pipeline.Pipeline, error) {
	pipelines, err := c.opts.Bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	spec, err := dispatch.SpecAt(ctx, pipelines, at.pipeline, at.number)
	if err == nil {
		c.model.found(at, spec)
	}
	return spec, err
}

func (k known) Gate(name string) (join.Admission, error) { return k.m.gates[name], nil }

func (k known) Lease(job string) (runs.Lease, error) { return k.m.leases[job], nil }

// wanted are the revisions that have not been read yet.
func (m *model) wanted() []revision { return m.lacks.list() }

// maxOlder is how many older revisions are kept.
const maxOlder = 500

// found stores a pipeline at an older revision, or why it can't be read.
func (m *model) found(at revision, spec pipeline.Pipeline) {
	m.change(func() {
		m.lacks.drop(at)
		if len(m.older) >= maxOlder {
			clear(m.older)
		}
		m.older[at] = spec
		m.settleAll(at.pipeline)
	})
}
