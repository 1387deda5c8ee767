package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Limits of the failures.
const (
	MaxFailures = 8
	maxReasons  = 10_000   // that are kept
	maxWritten  = 10 << 10 // bytes of an error that are read
)

// Failure is a reason for which runs have failed.
type Failure struct {
	State  string // failed or expired
	Reason string // the first line, with # for numbers and ids, without secrets; "": unknown
	Runs   int
	Last   runs.Summary // the run that failed last
	Query  string       // selects these runs, see list.Parse
}

// reasons are those of errors that were read before: each is read once.
type reasons map[[2]string]string

func (r reasons) of(one runs.Summary) string {
	written := one.Error[:min(len(one.Error), maxWritten)]
	at := [2]string{written}
	if strings.Contains(written, one.Run) {
		at[1] = one.Run
	}
	reason, known := r[at]
	if !known {
		if len(r) >= maxReasons {
			clear(r)
		}
		reason = mask.Text(replay.ReasonPattern(written, one.Run))
		r[at] = reason
	}
	return reason
}

// failures groups runs that have failed by their reasons.
type failures struct {
	reasons reasons
	by      map[[2]string]*Failure
}

func (f *failures) add(one runs.Summary) {
	reason := f.reasons.of(one)
	group := f.by[[2]string{one.State, reason}]
	if group == nil {
		group = &Failure{State: one.State, Reason: reason, Last: one}
		f.by[[2]string{one.State, reason}] = group
	}
	group.Runs++
	if one.Updated.After(group.Last.Updated) {
		group.Last = one
	}
}

// most returns the most frequent failures, and how many runs the others have.
func (f *failures) most(since time.Time) (most []Failure, others int) {
	for _, group := range f.by {
		group.Query = queryOf(group.State, group.Reason, since)
		most = append(most, *group)
	}
	slices.SortFunc(most, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), b.Last.Updated.Compare(a.Last.Updated), strings.Compare(a.Reason, b.Reason))
	})
	for _, group := range most[min(len(most), MaxFailures):] {
		others += group.Runs
	}
	return most[:min(len(most), MaxFailures)], others
}

// Limits of the parts of a reason that a query names.
const (
	maxParts  = 3
	leastPart = 4
	maxPart   = 120
)

// queryOf returns a filter of the list of runs that selects the runs of a failure: by the longest
// parts that its reason has in common with all of their errors.
func queryOf(state, reason string, since time.Time) string {
	var parts []string
	for _, part := range strings.FieldsFunc(strings.ReplaceAll(reason, "RUN", "#"), func(r rune) bool { return strings.ContainsRune("#…•", r) }) {
		part = strings.TrimSpace(strings.ToValidUTF8(part[:min(len(part), maxPart)], ""))
		if len(part) >= leastPart {
			parts = append(parts, part)
		}
	}
	slices.SortStableFunc(parts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	query := "state=" + state + " " + SinceQuery(since)
	for _, part := range slices.Compact(parts[:min(len(parts), maxParts)]) {
		query += " error~" + filter.Quote(part)
	}
	return query
}

// SinceQuery returns the term that selects runs that were updated since a time.
func SinceQuery(since time.Time) string { return "since=" + since.UTC().Format("2006-01-02T15:04") }
