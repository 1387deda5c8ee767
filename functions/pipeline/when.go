package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// When says when hyperparameters are searched for: one of the words below, or "every: 168h" for a duration. In a file the last may be a
// mapping too, {every: 7d}.
type When string

// The words of When.
const (
	TuneNever   When = "never"   // each run gets the last best hyperparameters of the pipeline, as reused
	TuneAlways  When = "always"  // for each run
	TuneChanged When = "changed" // where the module, the structure of schema or transform graph, or the distribution of the data are not those of the last search; else its best are reused
	tuneEvery        = "every"   // where the last search is so long ago; else its best ones are reused
)

const everyForm = "every: 7d, or another duration above 0"

// UnmarshalText reads what When may be. Which words there are is checked with the rest of the pipeline.
func (w *When) UnmarshalText(text []byte) error {
	word, after, timed := strings.Cut(string(text), ":")
	if word != tuneEvery {
		*w = When(text)
		return nil
	}
	var d Duration
	if err := d.UnmarshalText([]byte(strings.TrimSpace(after))); !timed || err != nil || d == 0 {
		return fmt.Errorf("expected %s, got %q", everyForm, shorten(string(text)))
	}
	*w = When(tuneEvery + ": " + d.String())
	return nil
}

// long lets {every: 7d} stand for what YAML takes for a text only in quotes.
func (w *When) long(n node) (node, error) {
	fields, ok := n.value.([]field)
	if !ok {
		return n, nil
	}
	if len(fields) == 1 && fields[0].key == tuneEvery {
		if text, ok := fields[0].node.value.(string); ok {
			return node{at: n.at, value: tuneEvery + ": " + text}, nil
		}
	}
	return n, errors.New("expected " + w.forms())
}

func (w *When) forms() string {
	return fmt.Sprintf("%s, %s, %s or %s", TuneNever, TuneAlways, TuneChanged, everyForm)
}

// word is what stands before the duration.
func (w When) word() string {
	word, _, _ := strings.Cut(string(w), ":")
	return word
}

// Every is how old the last search may be before another is made; false if that is not by its age.
func (w When) Every() (time.Duration, bool) {
	word, after, _ := strings.Cut(string(w), ": ")
	var d Duration
	err := d.UnmarshalText([]byte(after))
	return d.Duration(), word == tuneEvery && err == nil
}

// Searches says whether there is ever a search.
func (w When) Searches() bool { return w != TuneNever }

// Reuses says whether a run that could be searched for may get what an earlier search has found.
func (w When) Reuses() bool { return w.Searches() && w != TuneAlways }
