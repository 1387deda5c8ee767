package replay

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Group is the dead letters that have one kind of failure and the same reason, apart from numbers,
// hexadecimal ids and the run: what is repaired together.
type Group struct {
	ID        string             `json:"group"` // depends only on Kind and Reason
	Kind      events.FailureKind `json:"kind"`
	Reason    string             `json:"reason"` // see ReasonPattern
	Count     int                `json:"count"`
	First     time.Time          `json:"first"`     // when the oldest was dead-lettered
	Last      time.Time          `json:"last"`      // when the newest was
	Pipelines []string           `json:"pipelines"` // sorted
	Numbers   []uint64           `json:"numbers"`   // ascending
}

// GroupOf returns the id of the group of a reason with that pattern.
func GroupOf(kind events.FailureKind, pattern string) string {
	const digits = 10
	sum := sha256.Sum256([]byte(string(kind) + "\n" + pattern))
	return hex.EncodeToString(sum[:])[:digits]
}

// Group returns the id of the dead letter's group.
func (l DeadLetter) Group() string {
	return GroupOf(l.DeadLetter.Reason.Kind, ReasonPattern(l.DeadLetter.Reason.Message, l.Run))
}

// Groups groups dead letters: the largest group first, of equal ones the newest.
func Groups(letters []DeadLetter) []Group {
	byID := map[string]*Group{}
	for _, l := range letters {
		pattern := ReasonPattern(l.DeadLetter.Reason.Message, l.Run)
		id := GroupOf(l.DeadLetter.Reason.Kind, pattern)
		g := byID[id]
		if g == nil {
			g = &Group{ID: id, Kind: l.DeadLetter.Reason.Kind, Reason: pattern, Pipelines: []string{}, First: l.Stored}
			byID[id] = g
		}
		g.Add(l.Number, l.Pipeline, l.Stored)
	}
	groups := []Group{}
	for _, g := range byID {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	return groups
}

// Add adds a dead letter to the group. pipeline may be "".
func (g *Group) Add(number uint64, pipeline string, stored time.Time) {
	g.Count++
	g.Numbers = append(g.Numbers, number)
	if stored.After(g.Last) {
		g.Last = stored
	}
	if stored.Before(g.First) {
		g.First = stored
	}
	if at, there := slices.BinarySearch(g.Pipelines, pipeline); pipeline != "" && !there {
		g.Pipelines = slices.Insert(g.Pipelines, at, pipeline)
	}
}

var (
	// hexID matches words that may be digests, UUIDs or other ids.
	hexID = regexp.MustCompile(`\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b`)
	// number matches numbers, also in words: step 12, 0.5, v12.
	number = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)*`)
)

// maxPattern bounds a reason's first line, in bytes.
const maxPattern = 400

// ReasonPattern returns the first line of a reason with # for each number and hexadecimal id, and
// RUN for the name of its run.
func ReasonPattern(reason, run string) string {
	line := runs.FirstLine(reason[:min(len(reason), 10*maxPattern)])
	if len(line) > maxPattern {
		line = strings.ToValidUTF8(line[:maxPattern], "") + "…"
	}
	line = withoutName(line, run)
	line = hexID.ReplaceAllStringFunc(line, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "#"
		}
		return word
	})
	return strings.ReplaceAll(number.ReplaceAllString(line, "#"), "s#://", "s3://")
}

// withoutName replaces a run's name where it is a word of its own.
func withoutName(line, run string) string {
	if run == "" {
		return line
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(line, run)
		if !found {
			out.WriteString(line)
			return out.String()
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		name := run
		if !inName(last) && !inName(next) {
			name = "RUN"
		}
		out.WriteString(before + name)
		line = after
	}
}

func inName(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-", r))
}
