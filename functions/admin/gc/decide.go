package gc

import (
	"cmp"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// garbage returns what may be removed of an execution whose commit is c, the zero Commit for none:
// attempts other than the committed one, and checkpoints that no attempt will resume from. Objects
// that were written since before, or belong to an attempt that holds a lease, stay.
func (e *execution) garbage(c storage.Commit, before time.Time, leased map[string]bool) []Removal {
	var all []Removal
	for _, attempt := range e.attempts() {
		parts := e.of(attempt, storage.PartPaper, storage.PartOutput)
		if len(parts) == 0 || attempt == winner(c) || leased[attempt] || !newest(parts).Before(before) {
			continue
		}
		what, why := "attempt", whyUncommitted
		if c.Retired && attempt == c.Attempt { // an earlier collection was cut off
			what, why = "model", whyReplaced
		}
		all = append(all, e.removal(what, attempt, why, parts))
	}
	return append(all, e.checkpoints(c, before, leased)...)
}

// checkpoints returns the removal of checkpoints, once there is a model, or if the execution has
// not been worked on for long. Their age protects them from removal under an attempt that resumes
// from them: at first such an attempt has written nothing that would identify its lease.
func (e *execution) checkpoints(c storage.Commit, before time.Time, leased map[string]bool) []Removal {
	parts := e.of("", storage.PartPointer)
	for _, attempt := range e.attempts() {
		parts = append(parts, e.of(attempt, storage.PartCheckpoint)...)
	}
	why, touched := whyUntouched, e.newest()
	if winner(c) != "" {
		why, touched = whyCommitted, newest(parts)
	}
	if len(parts) == 0 || e.atWork(leased) || !touched.Before(before) {
		return nil
	}
	return []Removal{e.removal("checkpoints", "", why, parts)}
}

// model returns the removal of the committed attempt, for retention. The commit itself stays: it
// records that the execution was done, and in which generation, so that the next result is
// announced as a new one. false if there is nothing to remove, or if the execution was touched
// since it was listed.
func (e *execution) model(c storage.Commit, before time.Time, leased map[string]bool) (Removal, bool) {
	parts := e.of(winner(c), storage.PartPaper, storage.PartOutput)
	if winner(c) == "" || len(parts) == 0 || !e.newest().Before(before) {
		return Removal{}, false
	}
	if e.atWork(leased) || leased[c.FoundBy] || !e.listed(c) {
		return Removal{}, false
	}
	return e.removal("model", winner(c), whyReplaced, parts), true
}

// listed reports whether a commit is the one that the survey saw.
func (e *execution) listed(c storage.Commit) bool {
	return slices.ContainsFunc(e.parts, func(p part) bool { return p.kind == storage.PartCommit && p.ETag == c.ETag })
}

// winner returns the attempt whose model a commit names; "" if there is no commit, or no model.
func winner(c storage.Commit) string {
	if c.Cancelled || c.Retired {
		return ""
	}
	return c.Attempt
}

// attempts returns those that have left objects, in a fixed order.
func (e *execution) attempts() []string {
	var all []string
	for _, p := range e.parts {
		if p.attempt != "" {
			all = append(all, p.attempt)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// atWork reports whether an attempt that has left objects here holds a lease.
func (e *execution) atWork(leased map[string]bool) bool {
	return slices.ContainsFunc(e.parts, func(p part) bool { return leased[p.attempt] })
}

func (e *execution) of(attempt string, kinds ...storage.Part) (parts []part) {
	for _, p := range e.parts {
		if p.attempt == attempt && slices.Contains(kinds, p.kind) {
			parts = append(parts, p)
		}
	}
	return parts
}

// removal orders the objects so that those that name others are removed first: no manifest and no
// pointer ever names a missing object.
func (e *execution) removal(what, attempt, why string, parts []part) Removal {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(rank(a), rank(b)) })
	r := Removal{Component: e.place.Root, Execution: e.place.Execution, What: what, Attempt: attempt, Why: why, Objects: len(parts)}
	for _, p := range parts {
		r.Bytes += p.Size
		r.refs = append(r.refs, p.Ref)
	}
	return r
}

func rank(p part) int {
	if p.kind == storage.PartPointer || p.kind == storage.PartPaper {
		return 0
	}
	return 1
}
