package tflite

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Description is what a file says of itself, whoever wrote it.
type Description struct {
	Text       string         `json:"text,omitempty"`
	Inputs     []TensorInfo   `json:"inputs"`  // of the main graph, by the names of the first signature, or else their own
	Outputs    []TensorInfo   `json:"outputs"` // likewise
	Signatures []string       `json:"signatures,omitempty"`
	Ops        map[string]int `json:"ops"` // operators of the main graph by the schema's names, and how often they stand there
	Tensors    int            `json:"tensors"`
	DataBytes  int64          `json:"data_bytes"`      // of weights and other constants, as far as they stand in the file
	Notes      string         `json:"notes,omitempty"` // left out where they are longer than a megabyte
}

// TensorInfo describes an input or an output.
type TensorInfo struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`  // float32, int64, int8 and so on
	Shape []int32 `json:"shape"` // -1 where it is the caller's choice

	index int32
}

// Describe reads what a file is, without its weights. What is no TFLite model, is cut off, or has
// no outputs, is an error, which doesn't name the file: the caller knows the name that users know.
func Describe(path string) (Description, error) {
	f, err := os.Open(path)
	if err != nil {
		return Description{}, err
	}
	defer f.Close() // only read: nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return Description{}, err
	}
	d, err := describe(f, info.Size())
	if err != nil {
		return Description{}, fmt.Errorf("is no TFLite model: %w", err)
	}
	return d, nil
}

func describe(data io.ReaderAt, size int64) (Description, error) {
	r := newReader(data, size)
	var identifier [len(fileIdentifier)]byte
	if r.bytes(4, identifier[:]); r.err == nil && string(identifier[:]) != fileIdentifier {
		return Description{}, fmt.Errorf("it is not marked %s", fileIdentifier)
	}
	var d Description
	d.model(r.table(r.follow(0)))
	if r.err == nil && len(d.Outputs) == 0 {
		r.err = errors.New("it has no outputs")
	}
	if r.err != nil {
		return Description{}, r.err
	}
	return d, nil
}

func (d *Description) model(m table) {
	if v := m.number(modelVersion); v != fileVersion {
		m.fail("it has version %d of the schema, expected %d", v, fileVersion)
	}
	d.Text = m.text(modelDescription)
	names := opNames(m.vector(modelOpCodes, 4))
	m.vector(modelSubgraphs, 4).tables(func(_ int, g table) bool {
		d.graph(g, names)
		return false // the first is the main one
	})
	first := true
	m.vector(modelSignatures, 4).tables(func(_ int, s table) bool {
		d.Signatures = append(d.Signatures, s.text(signatureKey))
		if first && s.number(signatureSubgraph) == 0 {
			rename(d.Inputs, s.vector(signatureInputs, 4))
			rename(d.Outputs, s.vector(signatureOutputs, 4))
		}
		first = false
		return true
	})
	d.data(m)
}
