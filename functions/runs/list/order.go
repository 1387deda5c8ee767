package list

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Order sorts runs by a field. The zero Order is the last updated first.
type Order struct {
	by         field
	Descending bool
}

// ParseOrder reads the name of a field, or of a metric or parameter with its prefix: metric.loss. A
// - before it has the greatest value first. "" is the zero Order.
func ParseOrder(written string) (Order, error) {
	if written == "" {
		return Order{}, nil
	}
	name, descending := strings.CutPrefix(written, "-")
	f, ok := fieldNamed(name)
	if !ok || name == "age" || len(written) > filter.MaxBytes {
		return Order{}, fmt.Errorf("no field is named %q%s", name[:min(len(name), 64)], spelling.Suggestion(name, Fields()))
	}
	return Order{f, descending}, nil
}

func (o Order) field() (by field, descending bool) {
	if o.by.Name == "" {
		return fieldOf("updated"), true
	}
	return o.by, o.Descending
}

// String returns the order as ParseOrder reads it.
func (o Order) String() string {
	by, descending := o.field()
	if descending {
		return "-" + by.Name
	}
	return by.Name
}

// position is where a run is in an order. Runs without a value are last in either direction, and
// runs with the same value are in the order of their names.
type position struct {
	Order   string  `json:"o"`
	Missing bool    `json:"m,omitempty"`
	Text    string  `json:"t,omitempty"`
	Number  float64 `json:"n,omitempty"`
	Key     string  `json:"k"` // pipeline/run
}

// maxSorted is how much of a text counts: cursors are part of addresses.
const maxSorted = 256

func (o Order) positionOf(r *runs.Summary) position {
	by, _ := o.field()
	v, has := by.Of(r, time.Time{})
	p := position{Missing: !has, Key: r.Pipeline + "/" + r.Run}
	v.Text = strings.ToValidUTF8(v.Text[:min(len(v.Text), maxSorted)], "") // a cursor holds it
	switch {
	case !has:
	case by.Kind == filter.Mixed:
		if p.Number = v.Number; !v.IsNumber {
			p.Text = v.Text
		}
	case by.Kind == filter.Text && by.Name != "state":
		p.Text = v.Text
	default:
		p.Number = v.Number
	}
	return p
}

// compare orders two positions. Numbers come before texts.
func (o Order) compare(a, b position) int {
	if a.Missing != b.Missing {
		if a.Missing {
			return 1
		}
		return -1
	}
	order := cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Number, b.Number))
	if _, descending := o.field(); descending {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(a.Key, b.Key))
}

// Sort sorts runs.
func (o Order) Sort(all []runs.Summary) {
	type placed struct {
		at  position
		run int
	}
	places := make([]placed, len(all))
	for i := range all {
		places[i] = placed{o.positionOf(&all[i]), i}
	}
	slices.SortFunc(places, func(a, b placed) int { return o.compare(a.at, b.at) })
	sorted := make([]runs.Summary, len(all))
	for i, p := range places {
		sorted[i] = all[p.run]
	}
	copy(all, sorted)
}

// Page is a part of a sorted list.
type Page struct {
	Runs     []runs.Summary
	From     int    // number of the first, from 0
	Previous string // cursors; "" if there is none
	Next     string
}

// Page returns the page of sorted runs that a cursor of another page names; "" is the first. A
// cursor holds the position of a run, so runs that arrive or end in the meantime neither repeat nor
// hide others.
func (o Order) Page(sorted []runs.Summary, cursor string, size int) (Page, error) {
	from := 0
	if cursor != "" {
		at, before, err := o.readCursor(cursor)
		if err != nil {
			return Page{}, err
		}
		var found bool
		from, found = slices.BinarySearchFunc(sorted, at, func(r runs.Summary, at position) int { return o.compare(o.positionOf(&r), at) })
		switch {
		case before:
			from = max(0, from-size)
		case found:
			from++
		}
		if from == len(sorted) { // the runs after it are gone
			from = max(0, from-size)
		}
	}
	p := Page{From: from, Runs: slices.Clone(sorted[from:min(from+size, len(sorted))])}
	if from > 0 {
		p.Previous = o.cursor('b', &p.Runs[0])
	}
	if last := len(p.Runs); from+last < len(sorted) {
		p.Next = o.cursor('a', &p.Runs[last-1])
	}
	return p, nil
}

// cursor names what is before ('b') or after ('a') a run.
func (o Order) cursor(side byte, r *runs.Summary) string {
	at := o.positionOf(r)
	at.Order = o.String()
	text, err := json.Marshal(at)
	if err != nil {
		return "" // a number that isn't finite: no field has one
	}
	return string(side) + base64.RawURLEncoding.EncodeToString(text)
}

// maxCursor is more than a cursor of the longest names has.
const maxCursor = 4 << 10

func (o Order) readCursor(cursor string) (at position, before bool, err error) {
	fault := fmt.Errorf("the cursor %.20q is none of this list in this order", cursor)
	if len(cursor) > maxCursor || cursor[0] != 'a' && cursor[0] != 'b' {
		return at, false, fault
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor[1:])
	if err != nil || json.Unmarshal(text, &at) != nil || at.Order != o.String() {
		return at, false, fault
	}
	return at, cursor[0] == 'b', nil
}
