package console

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
	"github.com/stoker-ml/stoker/functions/runs"
)

// revision is a pipeline at one of its revisions.
type revision struct {
	pipeline string
	number   uint64
}

var errNotRead = errors.New("the pipeline is being read")

// known is the model as functions/runs asks it, with the lock held.
type known struct{ m *model }

func (k known) Spec(join plan.Join) (pipeline.Pipeline, error) {
	newest, applied := k.m.specs[join.Pipeline]
	if applied && (join.Revision == 0 || join.Revision == newest.revision) {
		if newest.bad != "" {
			return newest.spec, errors.New(newest.bad)
		}
		return newest.spec, nil
	}
	if join.Revision == 0 {
		return pipeline.Pipeline{}, fmt.Errorf("pipeline %s is not applied", join.Pipeline)
	}
	at := revision{join.Pipeline, join.Revision}
	if spec, there := k.m.older[at]; there {
		return spec, nil
	}
	k.m.lacks[at] = true
	return pipeline.Pipeline{}, errNotRead
}

func (k known) Gate(name string) (plan.Gate, error) { return k.m.gates[name], nil }

func (k known) Lease(job string) (runs.Lease, error) { return k.m.leases[job], nil }

// wanted are the revisions that nobody has read yet.
func (m *model) wanted() (list []revision) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for at := range m.lacks {
		list = append(list, at)
	}
	return list
}

// maxOlder is how many older revisions are kept.
const maxOlder = 500

// found takes a pipeline at an older revision, or why it can't be read.
func (m *model) found(at revision, spec pipeline.Pipeline) {
	m.change(func() {
		delete(m.lacks, at)
		if len(m.older) >= maxOlder {
			clear(m.older)
		}
		m.older[at] = spec
		m.settleAll(at.pipeline)
	})
}
