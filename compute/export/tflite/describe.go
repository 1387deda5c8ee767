package tflite

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Description describes a file, which any program may have written, by its own metadata.
type Description struct {
	Text string `json:"text,omitempty"`
	// Inputs of the main graph, by the names of the first signature, or else by their own.
	Inputs     []TensorInfo `json:"inputs"`
	Outputs    []TensorInfo `json:"outputs"` // likewise
	Signatures []string     `json:"signatures,omitempty"`
	// The number of times that each operator is in the main graph, by the schema's names.
	Ops     map[string]int `json:"ops"`
	Tensors int            `json:"tensors"`
	// Bytes of weights and other constants that are in the file.
	DataBytes int64  `json:"data_bytes"`
	Notes     string `json:"notes,omitempty"` // left out if they are longer than a megabyte
}

// TensorInfo describes an input or an output.
type TensorInfo struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`  // float32, int64, int8 and so on
	Shape []int32 `json:"shape"` // -1: the caller chooses

	index int32
}

// Describe reads what a file is, without its weights. A file that is no TFLite model, is truncated,
// or has no outputs, is an error, which doesn't name the file: the caller knows the name that users
// know.
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

// graph takes a SubGraph.
func (d *Description) graph(g table, names []string) {
	tensors := g.vector(subgraphTensors, 4)
	d.Tensors = int(tensors.count)
	d.Inputs = tensors.named(g.vector(subgraphInputs, 4).int32s())
	d.Outputs = tensors.named(g.vector(subgraphOutputs, 4).int32s())
	d.Ops = map[string]int{}
	g.vector(subgraphOperators, 4).tables(func(i int, op table) bool {
		code := op.number(operatorOpCode)
		if code < 0 || int(code) >= len(names) {
			op.fail("operator %d is of kind %d, there are %d kinds", i, code, len(names))
			return false
		}
		d.Ops[names[code]]++
		return true
	})
}

// named returns the tensors of these indices.
func (v vector) named(indices []int32) []TensorInfo {
	var all []TensorInfo
	for _, i := range indices {
		if i < 0 || int64(i) >= v.count {
			v.fail("tensor %d is an input or output, there are %d tensors", i, v.count)
			return nil
		}
		all = append(all, tensorOf(v.table(v.follow(v.at+4*int64(i))), i))
	}
	return all
}

func tensorOf(t table, index int32) TensorInfo {
	shape := t.vector(tensorShapeSignature, 4)
	if shape.count == 0 {
		shape = t.vector(tensorShape, 4)
	}
	return TensorInfo{Name: t.text(tensorName), Type: typeName(t.small(tensorType)), Shape: shape.int32s(), index: index}
}

// rename gives tensors the names that a signature has for them.
func rename(tensors []TensorInfo, ports vector) {
	names := map[int32]string{}
	ports.tables(func(_ int, p table) bool {
		names[p.number(tensorMapIndex)] = p.text(tensorMapName)
		return true
	})
	for i, t := range tensors {
		if name, ok := names[t.index]; ok {
			tensors[i].Name = name
		}
	}
}

// data counts the bytes of constants, and reads the notes.
func (d *Description) data(m table) {
	buffers := m.vector(modelBuffers, 4)
	buffers.tables(func(_ int, b table) bool {
		if at := b.field(bufferData); at != 0 {
			d.DataBytes += b.span(at, 1).count
		}
		return true
	})
	m.vector(modelMetadata, 4).tables(func(_ int, entry table) bool {
		i := int64(entry.number(metadataBuffer))
		if entry.text(metadataName) != NotesName || i < 0 || i >= buffers.count {
			return true
		}
		d.note(m.table(m.follow(buffers.at + 4*i)))
		return true
	})
}

// maxNotes limits the notes that are read: those of a large vocabulary may be longer than the rest.
const maxNotes = 1 << 20

// note takes the buffer of the notes.
func (d *Description) note(b table) {
	at := b.field(bufferData)
	if at == 0 {
		return
	}
	count := b.span(at, 1).count
	if d.DataBytes -= count; count <= maxNotes {
		d.Notes = b.text(bufferData)
	}
}

// opNames returns the names of the OperatorCodes of a file.
func opNames(codes vector) []string {
	names := make([]string, 0, codes.count)
	codes.tables(func(_ int, c table) bool {
		code := max(c.number(opCodeBuiltin), int32(c.small(opCodeDeprecated)))
		name := opName(code)
		if code == customCode {
			name = "CUSTOM " + c.text(opCodeCustom)
		}
		names = append(names, name)
		return true
	})
	return names
}

func typeName(kind int8) string {
	if kind >= 0 && int(kind) < len(typeNames) {
		return typeNames[kind]
	}
	return fmt.Sprintf("type %d", kind)
}

func opName(code int32) string {
	if code >= 0 && int(code) < len(builtinNames) {
		return builtinNames[code]
	}
	return fmt.Sprintf("operator %d", code)
}
