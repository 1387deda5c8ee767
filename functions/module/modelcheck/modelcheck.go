// Package modelcheck reads and executes models and graphs that others made: those that modules
// wrote, and those that events name.
//
// Its functions run in a child process of the worker, by the call "check" of the module protocol,
// and not in the worker itself: a model is code, and the child has a clean environment, the job's
// memory and time limits, and the rights of a module. The worker sends a Question and gets an
// Answer; see runner.Runner.Check.
package modelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/drift"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/skew"
)

// Question lists the checks, in this order: Graphs, Schema, Shape, Statistics, Drift, Synthesis,
// Model, Exports, Skew. Paths are local and absolute.
type Question struct {
	Graphs   []Graph  `json:"graphs,omitempty"`    // graphs that may have only the usual operations
	ExtraOps []string `json:"extra_ops,omitempty"` // further operations that the operator allows
	Schema   string   `json:"schema,omitempty"`    // a schema file, which must parse; "": none

	Shape     *Shape          `json:"shape,omitempty"`
	Synthesis *skew.Synthesis `json:"synthesis,omitempty"`

	Statistics string `json:"statistics,omitempty"` // an ExampleStatistics artifact; "": none
	Drift      *Drift `json:"drift,omitempty"`

	Model *Model `json:"model,omitempty"`
	// Formats in folders next to Model.Dir, as compute/export names them.
	Exports []string       `json:"exports,omitempty"`
	Skew    *skew.Question `json:"skew,omitempty"`
}

// Graph is a SavedModel that an event names.
type Graph struct {
	Dir  string `json:"dir"`
	Name string `json:"name"` // in messages: transform_graph
}

// Shape asks for the drift.Shape of a Schema and a TransformGraph artifact that an event names. If
// a directory does not exist, the run does not have the artifact.
type Shape struct {
	Schema         string `json:"schema"`
	TransformGraph string `json:"transform_graph"`
}

// Model is the output of a module.
type Model struct {
	Dir string `json:"dir"` // Format-Serving
	Any bool   `json:"any"` // accept files of any kind, not only a SavedModel
}

// Answer is the result of the checks.
type Answer struct {
	// Why a graph, an artifact or the model is refused; later checks were not made.
	Refused string       `json:"refused,omitempty"`
	Shape   *drift.Shape `json:"shape,omitempty"`

	NumExamples map[string]int64 `json:"num_examples,omitempty"` // of each split of Statistics
	// The most distant feature of each split of Drift, in their order.
	Drift []drift.Distance `json:"drift,omitempty"`

	Synthetic *skew.Synthetic `json:"synthetic,omitempty"`
	Skew      *skew.Report    `json:"skew,omitempty"`
}

// Serve is the Check of a module.Module.
func Serve(ctx context.Context, question json.RawMessage) (any, error) {
	var q Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("read the request of a check: %w", err)
	}
	return Do(ctx, q)
}

// Do runs the checks. Faults of the files are in the answer; an error means that a check could not
// be made.
func Do(ctx context.Context, q Question) (Answer, error) {
	answer, err := q.checkInputs()
	if err != nil {
		return refused(err)
	}
	if q.Synthesis != nil {
		made, err := skew.Synthesize(ctx, *q.Synthesis)
		if err != nil {
			return Answer{}, context.Cause(ctx)
		}
		answer.Synthetic = &made
	}
	if q.Model != nil {
		if err := CheckModel(q.Model.Dir, q.Model.Any); err != nil {
			return refused(err)
		}
		if err := export.Check(filepath.Dir(q.Model.Dir), q.Exports); err != nil {
			return refused(err)
		}
	}
	if q.Skew == nil {
		return answer, nil
	}
	q.Skew.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil)) // the log of the check
	report, err := skew.Check(ctx, *q.Skew)
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	if err != nil {
		return refused(fmt.Errorf("train/serve skew: %w", err))
	}
	answer.Skew = &report
	return answer, nil
}

// checkInputs checks graphs, the schema, the statistics and the drift of a training's inputs.
func (q Question) checkInputs() (answer Answer, err error) {
	for _, g := range q.Graphs {
		if err := checkGraph(g, q.ExtraOps); err != nil {
			return answer, fmt.Errorf("%s: %w", g.Name, err)
		}
	}
	if q.Schema != "" {
		if _, err := example.ReadSchema(q.Schema); err != nil {
			return answer, err
		}
	}
	if q.Shape != nil {
		shape, err := drift.ReadShape(q.Shape.Schema, q.Shape.TransformGraph)
		if err != nil {
			return answer, err
		}
		answer.Shape = &shape
	}
	if q.Statistics != "" {
		counts, err := numExamples(q.Statistics)
		if err != nil {
			return answer, fmt.Errorf("statistics: %w", err)
		}
		answer.NumExamples = counts
	}
	if q.Drift != nil {
		distances, err := q.Drift.distances()
		if err != nil {
			return answer, err
		}
		answer.Drift = distances
	}
	return answer, nil
}

// longestReason is in bytes. An answer is one message of the module protocol, which has at most 64
// KiB, and a byte takes up to 6 in JSON.
const longestReason = 8 << 10

// refused returns the answer for files that are not accepted. It shortens err, which may quote any
// amount of their text.
func refused(err error) (Answer, error) {
	text := err.Error()
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "..."
	}
	return Answer{Refused: text}, nil
}

// CheckModel checks the files that a training left in the folder of its model. A SavedModel must be
// servable. If any is true, a model of another kind passes if it has a file with content: its
// format is not checked.
func CheckModel(serving string, any bool) error {
	name := filepath.Base(serving)
	found, err := survey(serving)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case found.files == 0:
		// TFX's message if that folder is missing.
		return fmt.Errorf("run_fn failed to generate model. %s holds no file", name)
	case found.saved:
		if err := savedmodel.Check(serving); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case !any:
		return fmt.Errorf("%s holds no saved_model.pb but %s: for a model that is not a SavedModel set trainer.model: any",
			name, found.first)
	case found.bytes == 0:
		return fmt.Errorf("run_fn failed to generate model. %s holds only empty files", name)
	}
	return nil
}

// content describes the files in a model's folder.
type content struct {
	saved bool   // it is a SavedModel, by its file
	first string // of the files
	files int
	bytes int64
}

func survey(dir string) (content, error) {
	var found content
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if found.files == 0 {
			found.first, err = filepath.Rel(dir, path)
		}
		found.files, found.bytes = found.files+1, found.bytes+info.Size()
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	found.saved = IsSavedModel(dir)
	return found, err
}

// IsSavedModel reports whether a folder has the files of a SavedModel.
func IsSavedModel(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "saved_model.pb"))
	return err == nil
}
