package join

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Gate is where the complete runs of one pipeline wait before their jobs are offered: for a paused pipeline to go on, or for
// one of so many places. It is kept in a register, one entry for each pipeline; a pipeline without an entry has an open gate.
//
// A run that has a place keeps it until its outcome is told; without a limit on places it only passes through.
type Gate struct {
	Paused   bool    `json:"paused,omitempty"`
	Admitted []Place `json:"admitted,omitempty"`
	Waiting  []Place `json:"waiting,omitempty"` // in the order of their sequence
}

// Place is that of one run.
type Place struct {
	Run          string `json:"run"`
	Sequence     uint64 `json:"sequence"`                // of the fact that completed it
	SupersededBy string `json:"superseded_by,omitempty"` // the run that took its place: it is about to end
}

// mostWaiting keeps a gate within one message of the bus. A run beyond is not listed: its join stays complete, and a sweep
// brings it back.
const mostWaiting = 1000

// IsOpen says whether the gate holds nobody up.
func (g Gate) IsOpen() bool { return !g.Paused && len(g.Admitted) == 0 && len(g.Waiting) == 0 }

// Ahead is how many runs come before one that waits: those that have a place, and those that wait before it. false if it does not
// wait.
func (g Gate) Ahead(run string) (n int, waits bool) {
	at := slices.IndexFunc(g.Waiting, at(run))
	if at < 0 {
		return 0, false
	}
	return len(g.Admitted) + at, true
}

// Why says, for people, what keeps a run here; "" if nothing does.
func (g Gate) Why(run string) string {
	ahead, waits := g.Ahead(run)
	switch {
	case !waits:
		return ""
	case g.Paused:
		return "its pipeline is paused"
	case ahead == 1:
		return "waits for its turn: 1 run before it"
	}
	return fmt.Sprintf("waits for its turn: %d runs before it", ahead)
}

// Admits says whether a run has a place, so that its job may be offered.
func (g Gate) Admits(run string) bool { return slices.ContainsFunc(g.Admitted, at(run)) }

// Enter lets a complete run wait. One that is there already, or for which the list is too long, changes nothing.
func (g Gate) Enter(j Join) Gate {
	if len(g.Waiting) >= mostWaiting || slices.ContainsFunc(g.Waiting, at(j.Run)) || g.Admits(j.Run) {
		return g
	}
	g.Waiting = append(slices.Clone(g.Waiting), Place{Run: j.Run, Sequence: j.Completed()})
	slices.SortFunc(g.Waiting, func(a, b Place) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return g
}

// Leave takes runs away, wherever they are.
func (g Gate) Leave(runs ...string) Gate {
	left := func(p Place) bool { return slices.Contains(runs, p.Run) }
	g.Admitted = slices.DeleteFunc(slices.Clone(g.Admitted), left)
	g.Waiting = slices.DeleteFunc(slices.Clone(g.Waiting), left)
	return g
}

// Settle admits as many of those who wait as there is room for, and says who of the others is superseded. limit is nil for a
// pipeline that any number of runs of may be worked on.
//
// Where the newest supersedes, it alone goes on when there is room, and takes the place of all older ones that wait. Those which
// were admitted keep their places to the end: were they ended too, a stream of runs that is quicker than a training would never see
// a model.
func (g Gate) Settle(limit *pipeline.Concurrency) Gate {
	g.Admitted, g.Waiting = slices.Clone(g.Admitted), slices.Clone(g.Waiting)
	supersedes := limit != nil && limit.Newest == pipeline.NewestSupersede
	for !g.Paused && (limit == nil || len(g.Admitted) < limit.Runs) {
		next := g.next(supersedes)
		if next < 0 {
			break
		}
		g.Admitted = append(g.Admitted, g.Waiting[next])
		g.Waiting = slices.Delete(g.Waiting, next, next+1)
	}
	if supersedes {
		g.supersede()
	}
	return g
}

// next is who of those that wait may go on first; -1 if nobody may.
func (g Gate) next(supersedes bool) int {
	at, step := 0, 1
	if supersedes {
		at, step = len(g.Waiting)-1, -1
	}
	for ; at >= 0 && at < len(g.Waiting); at += step {
		if g.Waiting[at].SupersededBy == "" {
			return at
		}
	}
	return -1
}

// supersede marks all that wait and are older than another run at the gate. A mark stays: that other may be gone by the time
// that the marked run has ended.
func (g Gate) supersede() {
	var newest Place
	for _, place := range slices.Concat(g.Admitted, g.Waiting) {
		if place.Sequence > newest.Sequence {
			newest = place
		}
	}
	for i, place := range g.Waiting {
		if place.SupersededBy == "" && place.Sequence < newest.Sequence {
			g.Waiting[i].SupersededBy = newest.Run
		}
	}
}

func at(run string) func(Place) bool { return func(p Place) bool { return p.Run == run } }
