package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// Format is an export format in addition to the SavedModel.
type Format struct {
	Name   string // as in pipelines
	Folder string // in the Model artifact, named as TFX names them
	File   string // in the folder

	// holds reports whether the format can represent an op. Nodes that it can't represent are left
	// out of its part of the model.
	holds func(op nn.Op) bool
	// write makes the file.
	write func(ctx context.Context, path string, p Part) error
	// check returns an error if a file, which any program may have written, is invalid.
	check func(path string) error
}

// formats are the supported formats. Those of one directory share its inputs.json, and must have
// the same inputs.
var formats = []Format{
	tfliteFormat("tflite", "model.tflite", tflite.Float32),
	tfliteFormat("tflite-float16", "model-float16.tflite", tflite.Float16),
	tfliteFormat("tflite-int8", "model-int8.tflite", tflite.Int8),
	onnxFormat("onnx", "model.onnx"),
}

// Formats returns the supported formats.
func Formats() []Format { return slices.Clone(formats) }

// named returns the requested formats.
func named(names []string) ([]Format, error) {
	var found []Format
	for _, name := range names {
		i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no such format: %q, expected some of %s", name, strings.Join(allNames(), ", "))
		}
		found = append(found, formats[i])
	}
	return found, nil
}

func allNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Check returns an error if one of the requested formats is not in dir, the directory of a Model
// artifact, or can't be read. It names all of them.
func Check(dir string, names []string) error {
	asked, err := named(names)
	for _, f := range asked {
		err = errors.Join(err, f.checkIn(dir))
	}
	return err
}

func (f Format) checkIn(dir string) error {
	place := filepath.Join(dir, f.Folder, f.File)
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was asked for, but the module left no %s", f.Name, filepath.Join(f.Folder, f.File))
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case err == nil && info.Size() == 0:
		err = errors.New("is empty")
	case err == nil:
		err = f.check(place)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", f.Name, filepath.Join(f.Folder, f.File), err)
	}
	return nil
}

// inputsFile is in the directory of every format and describes the inputs of its files, which take
// no tf.Examples.
const inputsFile = "inputs.json"

// Write writes the model into all requested files. The SavedModel comes last, so that a directory
// with it has all of them. The same model gives the same bytes.
func Write(ctx context.Context, t Targets, m Model) error {
	asked, err := named(t.Formats)
	if err != nil {
		return err
	}
	for _, f := range asked {
		if err := f.writeIn(ctx, filepath.Dir(t.Serving), m); err != nil {
			return fmt.Errorf("export %s: %w", f.Name, err)
		}
	}
	if t.Eval != "" {
		if err := savedmodel.WriteEval(t.Eval, m.Model); err != nil {
			return fmt.Errorf("export eval model: %w", err)
		}
	}
	return savedmodel.Write(t.Serving, m.Model)
}

func (f Format) writeIn(ctx context.Context, dir string, m Model) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	folder := filepath.Join(dir, f.Folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	part, err := m.part(f.holds)
	if err != nil {
		return err
	}
	if err := f.write(ctx, filepath.Join(folder, f.File), part); err != nil {
		return err
	}
	return writeInputs(filepath.Join(folder, inputsFile), part.Inputs)
}

// writeInputs writes {"inputs": [...]}, one input as partition.Input has it.
func writeInputs(path string, inputs []partition.Input) error {
	text, err := json.MarshalIndent(map[string]any{"inputs": inputs}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// onnxFormat returns the format of ONNX Runtime and similar runtimes.
func onnxFormat(name, file string) Format {
	return Format{
		Name: name, Folder: "Format-ONNX", File: file, holds: onnx.Holds, check: checkONNX,
		write: func(_ context.Context, path string, p Part) error { return onnx.Write(path, p.Graph, p.Inputs) },
	}
}

func checkONNX(path string) error {
	_, err := onnx.Describe(path)
	return err
}

// tfliteFormat returns one of the files that TensorFlow Lite runs. They have the same inputs and
// outputs; they differ in how numbers are stored.
func tfliteFormat(name, file string, q tflite.Quantization) Format {
	return Format{
		Name: name, Folder: "Format-TFLite", File: file, holds: tflite.Holds, check: checkTFLite,
		write: func(ctx context.Context, path string, p Part) error { return writeTFLite(ctx, path, p, q) },
	}
}

func checkTFLite(path string) error {
	_, err := tflite.Describe(path)
	return err
}

func writeTFLite(ctx context.Context, path string, p Part, q tflite.Quantization) error {
	notes, err := json.Marshal(map[string]any{"inputs": p.Inputs})
	if err != nil {
		return err
	}
	var samples map[string]nn.Value
	if q == tflite.Int8 {
		if samples, err = p.Samples(ctx); err != nil {
			return err
		}
	}
	return tflite.Write(path, p.Graph, tflite.Options{Quantization: q, Samples: samples, Notes: notes})
}
