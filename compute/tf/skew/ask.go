package skew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// asker calls a model in its files.
type asker interface {
	// name is go or tensorflow.
	name() string

	// ask returns an answer to each question, or none at all. An error that is unable is about the
	// implementation that executes the model; any other is about the model.
	ask(ctx context.Context, questions []question) ([]map[string]column, error)

	// askEach returns for each question the error that the model has for it, nil for none. An error
	// that is unable is about the asker.
	askEach(ctx context.Context, questions []question) ([]error, error)

	// askRounded is like ask, with the model's weights rounded differently, in a way that seed
	// determines.
	askRounded(ctx context.Context, questions []question, seed uint64) ([]map[string]column, error)
}

// unable is an error of an asker that can't execute the model.
type unable struct{ error }

// modelError is an error that the model has for the rows of a question.
type modelError struct {
	question int // of the list of requested ones
	error
	missing string // the feature that the rows lack, "" for another error
}

func (e modelError) Unwrap() error { return e.error }

// askers returns the available ones, with the decisive one last.
func askers(q Question, model *savedmodel.Served) []asker {
	list := []asker{reader{q, model}}
	if q.Python != "" {
		list = append(list, python{q.Python, q.Model})
	}
	return list
}

// maxVariableBytes limits the size of variables that are read into the memory of the process that
// compares. The model may come from another program, and a worker has no more memory for it.
const maxVariableBytes = 2 << 30

// reader is Go's reader of SavedModels.
type reader struct {
	question Question
	model    *savedmodel.Served
}

func (r reader) name() string { return "go" }

func (r reader) askRounded(ctx context.Context, questions []question, seed uint64) ([]map[string]column, error) {
	r.model = r.model.Rounded(graph.Rounding{Seed: seed, Relative: roundedBy})
	return r.ask(ctx, questions)
}

func (r reader) ask(ctx context.Context, questions []question) (answers []map[string]column, err error) {
	// A graph is foreign code: a panic of Go's reader does not show a defect of the model.
	defer func() {
		if broken := recover(); broken != nil {
			r.question.Logger.Error("our reader of SavedModels broke", "panic", broken, "stack", string(debug.Stack()))
			answers, err = nil, unable{fmt.Errorf("our reader broke: %v", broken)}
		}
	}()
	if err := checkSize(r.question.Model); err != nil {
		return nil, unable{err}
	}
	for _, q := range questions {
		err := r.model.Compile(q.signature.Name)
		if errors.Is(err, graph.ErrFiles) {
			return nil, err
		}
		if err != nil {
			return nil, unable{err}
		}
	}
	for i, q := range questions {
		answer := map[string]column{}
		for j, call := range q.calls {
			outputs, err := r.model.RunContext(ctx, q.signature.Name, call.inputs)
			if errors.Is(err, graph.ErrLimit) || ctx.Err() != nil {
				return nil, unable{err}
			}
			if err != nil {
				return nil, modelError{i, err, missingIn(err)}
			}
			part, err := columns(q.signature, outputs, call.rows)
			if err != nil {
				return nil, unable{err}
			}
			join(answer, part, j == 0)
		}
		answers = append(answers, q.trimmed(answer))
	}
	return answers, nil
}

func (r reader) askEach(ctx context.Context, questions []question) (failures []error, err error) {
	for _, q := range questions {
		_, err := r.ask(ctx, []question{q})
		if _, ok := errors.AsType[modelError](err); err != nil && !ok {
			return nil, err
		}
		failures = append(failures, err)
	}
	return failures, nil
}

// requiredFeature is the message of Go's reader for a row that lacks a feature.
var requiredFeature = regexp.MustCompile(`feature ("(?:[^"\\]|\\.)*"): [a-z0-9 ]+ is required but could not be found`)

func missingIn(err error) string {
	found := requiredFeature.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	name, err := strconv.Unquote(found[1])
	if err != nil {
		return ""
	}
	return name
}

// join appends the rows of a call to those of the previous calls. An output that a previous call
// did not return is left out.
func join(answer, part map[string]column, first bool) {
	for name, c := range part {
		if _, ok := answer[name]; ok || first {
			answer[name] = append(answer[name], c...)
		}
	}
	for name := range answer {
		if _, ok := part[name]; !ok {
			delete(answer, name)
		}
	}
}

// checkSize returns an error for variables that are too large to be read beside other jobs.
func checkSize(model string) error {
	files, err := filepath.Glob(filepath.Join(model, "variables", "variables.data-*"))
	size := int64(0)
	for _, file := range files {
		info, statErr := os.Stat(file)
		if statErr != nil {
			return errors.Join(err, statErr)
		}
		size += info.Size()
	}
	if size > maxVariableBytes {
		return fmt.Errorf("its variables have %d bytes, more than the %d that are read to compare", size, int64(maxVariableBytes))
	}
	return err
}

// columns returns a signature's outputs, row by row. An output that has no rows is left out, and so
// is a ragged one.
func columns(s savedmodel.Signature, outputs map[string]tensor.Tensor, rows int) (map[string]column, error) {
	answer := map[string]column{}
	for _, out := range s.Outputs {
		var c column
		var err error
		switch t := outputs[out.Name]; out.Layout {
		case graph.Dense:
			if t != nil && len(t.Shape()) > 0 {
				c, err = columnOf(t)
			}
		case graph.Sparse:
			if outputs[out.Name+"/values"] != nil {
				c, err = sparseColumn(outputs[out.Name+"/indices"], outputs[out.Name+"/values"], rows)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", out.Name, err)
		}
		if len(c) == rows {
			answer[out.Name] = c
		}
	}
	return answer, nil
}
