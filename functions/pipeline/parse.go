package pipeline

import (
	"errors"
	"reflect"
)

// Parse reads a pipeline file. name is the file's, for errors alone. The error is an *Error with everything that is
// wrong; only a file that is not YAML ends at its first problem.
func Parse(name string, text []byte) (Pipeline, error) {
	root, err := readYAML(text)
	if err != nil {
		return Pipeline{}, unreadable(name, err)
	}
	return build(name, root)
}

// FromJSON reads what JSON wrote, or a pipeline that came inline with a fact. It is as strict as Parse.
func FromJSON(text []byte) (Pipeline, error) {
	const name = "pipeline"
	root, err := readJSON(text)
	if err != nil {
		return Pipeline{}, unreadable(name, err)
	}
	return build(name, root)
}

// build turns a tree into a valid pipeline.
func build(name string, root node) (Pipeline, error) {
	r := &report{places: map[string]position{"": root.at}}
	p := defaults()
	r.decode(root, reflect.ValueOf(&p).Elem(), "")
	p.infer()
	r.validate(p)
	r.refuseUnsupported(p)
	if err := r.err(name); err != nil {
		return Pipeline{}, err
	}
	if t := p.Tuner; t != nil && t.Study.empty() {
		t.Study = nil // after the checks: a key that says 0 is refused
	}
	return p, nil
}

func unreadable(name string, err error) error {
	if problem, ok := errors.AsType[problemAt](err); ok {
		return &Error{File: name, Problems: []Problem{problem.Problem}}
	}
	return &Error{File: name, Problems: []Problem{{Message: err.Error()}}}
}
