package pipeline

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
)

// File is a pipeline file that was read.
type File struct {
	Pipeline Pipeline

	name   string
	report *report
}

// ReadFile is Parse for whoever checks more of a pipeline than Parse does, and has to say where in the file something is wrong.
func ReadFile(name string, text []byte) (File, error) {
	root, err := readYAML(text)
	if err != nil {
		return File{}, unreadable(name, err)
	}
	p, r, err := build(name, root)
	return File{p, name, r}, err
}

// At returns an error with the file, line and column of a key, or of the nearest one above it that the file has.
func (f File) At(key string, err error) error {
	at := f.report.place(key)
	if at == (position{}) {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return fmt.Errorf("%s:%d:%d: %w", f.name, at.line, at.column, err)
}

// Parse reads a pipeline file. name is the file's, for errors alone. The error is an *Error with everything that is
// wrong; only a file that is not YAML ends at its first problem.
func Parse(name string, text []byte) (Pipeline, error) {
	file, err := ReadFile(name, text)
	return file.Pipeline, err
}

// FromJSON reads what JSON wrote, or a pipeline that came inline with an event. It is as strict as Parse.
func FromJSON(text []byte) (Pipeline, error) {
	const name = "pipeline"
	root, err := readJSON(text)
	if err != nil {
		return Pipeline{}, unreadable(name, err)
	}
	p, _, err := build(name, root)
	return p, err
}

// build turns a tree into a valid pipeline, and says where its keys stand.
func build(name string, root node) (Pipeline, *report, error) {
	r := &report{places: map[string]position{"": root.at}}
	p := defaults()
	r.decode(root, reflect.ValueOf(&p).Elem(), "")
	p.infer()
	r.validate(p)
	r.refuseUnsupported(p)
	if err := r.err(name); err != nil {
		return Pipeline{}, r, err
	}
	if t := p.Tuner; t != nil && t.Study.empty() {
		t.Study = nil // after the checks: a key that says 0 is refused
	}
	return p, r, nil
}

func unreadable(name string, err error) error {
	if problem, ok := errors.AsType[problemAt](err); ok {
		return &Error{File: name, Problems: []Problem{problem.Problem}}
	}
	return &Error{File: name, Problems: []Problem{{Message: err.Error()}}}
}

//go:generate go test -run ^TestTheSchemaIsThatOfTheTypes$ -update .

//go:embed pipeline.v1.json
var schema []byte // never changed

// Schema is the JSON Schema (2020-12) of a pipeline file, made from Pipeline, for editors: a first line
// `# yaml-language-server: $schema=<its path>` gives completion. Parse says more than it does.
func Schema() []byte { return append([]byte(nil), schema...) }
