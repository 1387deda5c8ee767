package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/functions/module"
)

// Export is a format to write in addition to the SavedModel: a word (tflite), or a mapping ({format: tflite, required:
// true}).
//
// Modules that write their files themselves, builtin and Go ones, fail where one is missing. For a TFX module the files are
// made of its SavedModel, which not every format can hold: one that could not be made is noted in ModelTrained, and fails
// the job only if it is required.
type Export struct {
	Format   string `json:"format"`
	Required Switch `json:"required,omitempty"`
}

// plainExport is Export without its way of being written.
type plainExport Export

// MarshalJSON writes a word where that says it all, as pipelines have always been written.
func (e Export) MarshalJSON() ([]byte, error) {
	if !e.Required {
		return json.Marshal(e.Format)
	}
	return json.Marshal(plainExport(e))
}

func (e *Export) long(n node) (node, error) {
	if _, ok := n.value.(string); ok {
		return node{at: n.at, value: []field{{key: "format", at: n.at, node: n}}}, nil
	}
	return n, nil
}

func (e *Export) forms() string {
	return "a format, or a mapping like {format: tflite, required: true}"
}

// Formats are those that are asked for.
func Formats(exports []Export) []string {
	var names []string
	for _, e := range exports {
		names = append(names, e.Format)
	}
	return names
}

func (r *report) exports(exports []Export) {
	names := Formats(exports)
	for i, name := range names {
		at := fmt.Sprintf("trainer.exports[%d]", i)
		r.oneOf(at, name, module.Formats()...)
		if slices.Contains(names[:i], name) {
			r.add(at, "%s is there twice", shorten(name))
		}
	}
}
