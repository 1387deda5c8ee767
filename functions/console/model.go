package console

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// model is the state of the bus as the follower has read it. Its methods may be called from several
// goroutines; they return copies.
type model struct {
	mu      sync.RWMutex
	version uint64
	changed chan struct{} // closed with the next change
	limit   int

	runs   map[key]*run
	specs  map[string]deployed
	older  map[revision]pipeline.Pipeline // at revisions that joins have pinned
	lacks  revisions                      // to read; readers that hold the read lock add to them too
	gates  map[string]join.Admission
	leases map[string]runs.Lease
	jobs   map[string]key
	dead   deadLetters

	read  map[string]bool   // parts that have been read to their end once
	away  map[string]string // parts that can't be read now, and why
	drops int               // runs dropped
	live  []key             // runs with curves, the most recently updated last
}

// deployed is a pipeline as it was applied last.
type deployed struct {
	spec     pipeline.Pipeline
	bad      string // why it can't be read
	revision uint64
	applied  time.Time
}

func newModel(limit int) *model {
	return &model{
		changed: make(chan struct{}), limit: limit,
		runs: map[key]*run{}, specs: map[string]deployed{}, older: map[revision]pipeline.Pipeline{},
		gates: map[string]join.Admission{}, leases: map[string]runs.Lease{}, jobs: map[string]key{}, read: map[string]bool{}, away: map[string]string{},
	}
}

// change runs do under the lock, and wakes the waiters.
func (m *model) change(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	m.version++
	close(m.changed)
	m.changed = make(chan struct{})
}

// now is the version, and a channel that is closed when there is a newer one.
func (m *model) now() (uint64, <-chan struct{}) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.version, m.changed
}

// run returns or begins the record of a run.
func (m *model) run(k key) *run {
	r := m.runs[k]
	if r == nil {
		r = &run{key: k}
		m.runs[k] = r
	}
	return r
}

// settle derives a run's state anew, and drops the oldest runs.
func (m *model) settle(r *run) {
	r.refresh(known{m})
	if job := r.job(); job != "" {
		if r.state.Over() {
			delete(m.jobs, job)
		} else {
			m.jobs[job] = r.key
		}
	}
	if len(m.runs) > m.limit+m.limit/20 {
		m.prune()
	}
}

// prune drops the runs that ended longest ago; if all are active, the least recently updated.
func (m *model) prune() {
	all := make([]*run, 0, len(m.runs))
	for _, r := range m.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *run) int {
		if a.state.Over() != b.state.Over() {
			return map[bool]int{true: -1, false: 1}[a.state.Over()]
		}
		return a.state.Updated.Compare(b.state.Updated)
	})
	for _, r := range all[:len(all)-m.limit] {
		delete(m.runs, r.key)
		delete(m.jobs, r.job())
		m.drops++
	}
}

// event adds one message of the log.
func (m *model) event(recorded events.Recorded) {
	if recorded.Err != nil {
		return // it is a dead letter
	}
	m.change(func() {
		r := m.run(key{recorded.Event.Pipeline, recorded.Event.Run})
		r.add(recorded)
		m.settle(r)
	})
}

// progress adds a report. One of an unknown run belongs to an event that is still to come, or to a
// run that was dropped.
func (m *model) progress(p events.Progress) {
	m.change(func() {
		r := m.runs[key{p.Pipeline, p.Run}]
		if r == nil || r.state.Over() && r.last.State.Updated.After(p.Time) {
			return
		}
		had := len(r.curves) > 0
		r.report(p)
		if len(r.curves) > 0 {
			m.touch(r.key, had)
		}
		r.state.Updated = p.Time
	})
}

// maxLive is the number of runs whose curves are kept in memory. Others are read from the store.
const maxLive = 48

// touch notes that a run's curves have grown, and drops those of the least recently updated run.
func (m *model) touch(k key, had bool) {
	if had {
		if last := len(m.live) - 1; last >= 0 && m.live[last] == k {
			return
		}
		m.live = slices.DeleteFunc(m.live, func(other key) bool { return other == k })
	}
	m.live = append(m.live, k)
	if len(m.live) > maxLive {
		if oldest := m.runs[m.live[0]]; oldest != nil {
			oldest.curves = nil
		}
		m.live = slices.Delete(m.live, 0, 1)
	}
}

// join adds an entry of events.RegisterJoins.
func (m *model) join(entry events.Entry) {
	name, runKey, ofRun := strings.Cut(entry.Key, "/")
	if !ofRun || entry.Deleted {
		return
	}
	j, err := dispatch.DecodeJoin(entry)
	m.change(func() {
		r := m.run(key{name, runKey})
		if err != nil {
			r.state = runs.State{Pipeline: name, Run: runKey, State: runs.Unclear, Error: err.Error(), Updated: entry.Written}
			return
		}
		r.take(j)
		m.settle(r)
	})
}

// lease adds an entry of events.RegisterLeases. An unreadable one counts as held.
func (m *model) lease(entry events.Entry) {
	m.change(func() {
		if entry.Deleted {
			delete(m.leases, entry.Key)
		} else {
			lease, _ := events.DecodeLease(entry)
			m.leases[entry.Key] = runs.Lease{Lease: lease, Written: entry.Written}
		}
		if r := m.runs[m.jobs[entry.Key]]; r != nil {
			m.settle(r)
		}
	})
}

// gate adds an entry of events.RegisterGates.
func (m *model) gate(entry events.Entry) {
	if strings.Contains(entry.Key, "/") {
		return // when dispatchers swept last
	}
	var gate join.Admission
	err := json.Unmarshal(entry.Value, &gate)
	m.change(func() {
		if entry.Deleted || err != nil {
			delete(m.gates, entry.Key)
		} else {
			m.gates[entry.Key] = gate
		}
		m.settleAll(entry.Key)
	})
}

// pipeline adds an entry of events.RegisterPipelines.
func (m *model) pipeline(entry events.Entry) {
	spec, err := pipeline.FromJSON(entry.Value)
	m.change(func() {
		if entry.Deleted {
			delete(m.specs, entry.Key)
		} else {
			now := deployed{spec: spec, revision: entry.Revision, applied: entry.Written}
			if err != nil {
				now.bad = err.Error()
			}
			m.specs[entry.Key] = now
		}
		m.settleAll(entry.Key)
	})
}

// settleAll derives the states of a pipeline's active runs anew.
func (m *model) settleAll(name string) {
	for _, r := range m.runs {
		if r.pipeline == name && !r.state.Over() {
			m.settle(r)
		}
	}
}
