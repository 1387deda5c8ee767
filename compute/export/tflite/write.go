package tflite

import (
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Quantization says in which numbers a file keeps its weights and computes.
type Quantization int

// The quantizations. Inputs and outputs are float32 and int64 in all of them, unless
// Options.IntegerIO.
const (
	Float32 Quantization = iota // as trained
	// Float16 keeps matrices in half precision, some 11 bits of each number, and computes in
	// float32: half the size. A matrix with a number beyond 65504 stays as it is.
	Float16
	// DynamicInt8 keeps large matrices in 8 bits, a scale for each column or table, and computes in
	// float32, but for products of matrices, whose rows are rounded to 8 bits as they come: a
	// quarter of the size. Runtimes up to TensorFlow 2.16 refuse it; those know the others.
	DynamicInt8
	// Int8 computes in 8 bits from the first product or embedding on, wherever the format has an op
	// for it, and in float32 before it: there features of wide ranges are brought to a common one.
	// It needs sample rows, to see how large numbers get.
	Int8
)

// Options say how a file is written. The zero value writes all in float32.
type Options struct {
	Quantization Quantization

	// Samples are rows as the graph takes them, by input, for Int8: a hundred or more that are like
	// those to come. Larger numbers than theirs are cut off.
	Samples map[string]nn.Value

	// IntegerIO lets an Int8 file take and give int8 in the place of float32, for devices that have
	// nothing else. Callers find the scales in the file.
	IntegerIO bool

	// Notes says in words, or JSON, what to feed. It is kept in the file as metadata NotesName; nil
	// leaves it out.
	Notes []byte
}

// NotesName is the name of the metadata that holds Options.Notes.
const NotesName = "inputs.json"

// SignatureKey names the one signature of a file: inputs and outputs as the graph names them.
const SignatureKey = "serving_default"

// Holds says whether a file can hold an op: all but those that look strings up.
func Holds(op nn.Op) bool {
	_, simple := simpleOf(op)
	return simple || loweringOf(op) != nil
}

// Write writes g to path. Inputs and outputs have shape [batch, width], batch being the caller's
// choice, 1 at first. The same graph gives the same bytes. An op that the file can't hold is an
// error that names its node.
func Write(path string, g *nn.Graph, o Options) error {
	f, err := lower(g, o)
	if err == nil {
		err = f.save(path)
	}
	if err != nil {
		return fmt.Errorf("write TFLite model %s: %w", path, err)
	}
	return nil
}

// save writes the file, and gives it its name when it is whole.
func (f *file) save(path string) error {
	data, err := f.encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
