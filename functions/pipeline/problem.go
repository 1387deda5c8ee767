package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error lists every problem of one pipeline, in the order of the file.
type Error struct {
	File     string // as passed to Parse; "pipeline" for FromJSON
	Problems []Problem
}

// Problem is one problem of a pipeline.
type Problem struct {
	Line, Column int    // from 1; 0 if there is no text
	Key          string // path of the key: trainer.train_args.num_steps; "" for the whole file
	Message      string
}

// Error has one line for each problem: file:line:column: key: message.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.File + ":" + p.String()
	}
	return strings.Join(lines, "\n")
}

func (p Problem) String() string {
	text := " " + p.Message
	if p.Key != "" {
		text = " " + p.Key + ":" + text
	}
	if p.Line == 0 {
		return text
	}
	return fmt.Sprintf("%d:%d:%s", p.Line, p.Column, text)
}

// position is a position in the text, from 1; zero if there is none.
type position struct{ line, column int }

// report collects problems, and knows the position of each key.
type report struct {
	places   map[string]position
	problems []Problem
}

// add adds a problem with key, at the position of the key or of its nearest ancestor in the file.
// Only the first problem of a key, or of an ancestor, is kept: problems that follow from it would
// be confusing.
func (r *report) add(key, format string, args ...any) {
	if r.blames(key) {
		return
	}
	at := r.place(key)
	r.problems = append(r.problems, Problem{Line: at.line, Column: at.column, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (r *report) blames(key string) bool {
	if slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Key == key }) {
		return true
	}
	return key != "" && r.blames(above(key))
}

// blamesWithin reports whether an element of the list at key has a problem.
func (r *report) blamesWithin(key string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return strings.HasPrefix(p.Key, key+"[") })
}

func (r *report) place(key string) position {
	if at, ok := r.places[key]; ok || key == "" {
		return at
	}
	return r.place(above(key))
}

// above returns the key that holds key.
func above(key string) string { return key[:max(strings.LastIndexAny(key, ".["), 0)] }

// err returns nil if there is no problem.
func (r *report) err(file string) error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{File: file, Problems: r.problems}
}
