package join

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Admission limits how many runs of one pipeline are in progress at once. Runs whose next stage has
// no job yet wait here until their pipeline is resumed, or until fewer runs than its limit are
// admitted. It is one entry of a key-value bucket; a pipeline without an entry admits every run.
//
// An admitted run stays admitted until its outcome is in the log; without a limit it is removed as
// soon as it has its job.
type Admission struct {
	Paused   bool       `json:"paused,omitempty"`
	Admitted []Position `json:"admitted,omitempty"`
	Waiting  []Position `json:"waiting,omitempty"` // the queue, in the order of their sequence
}

// Position is the position of one run in the queue.
type Position struct {
	Run      string `json:"run"`
	Sequence uint64 `json:"sequence"` // that of the run's newest event when it was added
	// The run that took its position; this run is about to end.
	SupersededBy string `json:"superseded_by,omitempty"`
}

// maxWaiting keeps an admission within one message of the bus. Further runs are not listed: their
// joins still lack a job, and a sweep adds them again.
const maxWaiting = 1000

// IsOpen reports whether the admission holds up no run and so needs no entry.
func (a Admission) IsOpen() bool { return !a.Paused && len(a.Admitted) == 0 && len(a.Waiting) == 0 }

// Ahead returns how many runs come before a waiting one: those that were admitted, and those that
// wait before it; false if the run does not wait.
func (a Admission) Ahead(run string) (n int, waits bool) {
	at := slices.IndexFunc(a.Waiting, of(run))
	if at < 0 {
		return 0, false
	}
	return len(a.Admitted) + at, true
}

// Why explains to users what a run waits for here; "" if it does not wait.
func (a Admission) Why(run string) string {
	ahead, waits := a.Ahead(run)
	switch {
	case !waits:
		return ""
	case a.Paused:
		return "its pipeline is paused"
	case ahead == 1:
		return "waits for its turn: 1 run before it"
	}
	return fmt.Sprintf("waits for its turn: %d runs before it", ahead)
}

// IsAdmitted reports whether the job of a run may be enqueued.
func (a Admission) IsAdmitted(run string) bool { return slices.ContainsFunc(a.Admitted, of(run)) }

// Add makes a run wait. It changes nothing if the run is listed already or the queue is too long.
func (a Admission) Add(j Join) Admission {
	if len(a.Waiting) >= maxWaiting || slices.ContainsFunc(a.Waiting, of(j.Run)) || a.IsAdmitted(j.Run) {
		return a
	}
	a.Waiting = append(slices.Clone(a.Waiting), Position{Run: j.Run, Sequence: j.Completed()})
	slices.SortFunc(a.Waiting, func(p, q Position) int { return cmp.Compare(p.Sequence, q.Sequence) })
	return a
}

// Remove removes admitted and waiting runs.
func (a Admission) Remove(runs ...string) Admission {
	left := func(p Position) bool { return slices.Contains(runs, p.Run) }
	a.Admitted = slices.DeleteFunc(slices.Clone(a.Admitted), left)
	a.Waiting = slices.DeleteFunc(slices.Clone(a.Waiting), left)
	return a
}

// Admit admits as many of the waiting runs as the limit allows, and marks which of the others are
// superseded. limit is nil for a pipeline without a limit.
//
// If the newest run supersedes, it alone is admitted when the limit allows it, and takes the
// position of all older ones that wait. Admitted runs continue to their end: if they were ended
// too, a pipeline whose runs come faster than a training takes would never produce a model.
func (a Admission) Admit(limit *pipeline.Concurrency) Admission {
	a.Admitted, a.Waiting = slices.Clone(a.Admitted), slices.Clone(a.Waiting)
	supersedes := limit != nil && limit.Newest == pipeline.NewestSupersede
	for !a.Paused && (limit == nil || len(a.Admitted) < limit.Runs) {
		next := a.next(supersedes)
		if next < 0 {
			break
		}
		a.Admitted = append(a.Admitted, a.Waiting[next])
		a.Waiting = slices.Delete(a.Waiting, next, next+1)
	}
	if supersedes {
		a.supersede()
	}
	return a
}

// next returns the index of the waiting run to admit first; -1 if there is none.
func (a Admission) next(supersedes bool) int {
	at, step := 0, 1
	if supersedes {
		at, step = len(a.Waiting)-1, -1
	}
	for ; at >= 0 && at < len(a.Waiting); at += step {
		if a.Waiting[at].SupersededBy == "" {
			return at
		}
	}
	return -1
}

// supersede marks all waiting runs that are older than another one. A mark is permanent: that other
// run may be gone by the time that the marked run has ended.
func (a Admission) supersede() {
	var newest Position
	for _, position := range slices.Concat(a.Admitted, a.Waiting) {
		if position.Sequence > newest.Sequence {
			newest = position
		}
	}
	for i, position := range a.Waiting {
		if position.SupersededBy == "" && position.Sequence < newest.Sequence {
			a.Waiting[i].SupersededBy = newest.Run
		}
	}
}

func of(run string) func(Position) bool { return func(p Position) bool { return p.Run == run } }
