package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/export/tflite"
)

func printPorts(p *printer, ports []Port) {
	p.row("NAME", "TYPE", "SHAPE", "LAYOUT")
	for _, port := range ports {
		p.row(port.Name, port.Type, port.Shape, port.Layout)
	}
}

func (g *TransformGraph) print(p *printer) {
	p.row("graph of", "TensorFlow "+g.TensorFlow)
	if g.Executable {
		p.row("without TensorFlow", "Stoker executes this graph")
	} else {
		p.row("without TensorFlow", "not executed: "+g.Why)
	}
	p.section("%s: raw features", plural(len(g.Inputs), "input"))
	printPorts(p, g.Inputs)
	p.section("%s: transformed features", plural(len(g.Outputs), "output"))
	domains := map[string]string{}
	for _, d := range g.Domains {
		domains[d.Feature] = d.Values
	}
	p.row("NAME", "TYPE", "SHAPE", "LAYOUT", "DOMAIN")
	for _, port := range g.Outputs {
		p.row(port.Name, port.Type, port.Shape, port.Layout, domains[port.Name])
	}
	if len(g.Vocabularies) > 0 {
		p.section("vocabularies")
		p.row("NAME", "WORDS", "SIZE")
	}
	for _, v := range g.Vocabularies {
		words := integer(v.Words)
		if v.Words < 0 {
			words = "not counted"
		}
		p.row(v.Name, words, size(v.Bytes))
	}
	p.section("ops\n%s", plainLines(counts(g.Ops)))
}

func (m *SavedModel) print(p *printer) {
	p.row("graph of", "TensorFlow "+m.TensorFlow)
	p.row("tags", strings.Join(m.Tags, ", "))
	if m.Fingerprint != "" {
		p.row("fingerprint", m.Fingerprint)
	}
	for _, s := range m.Signatures {
		p.section("signature %s (%s)", plain(s.Name), plain(s.Method))
		p.row("", "NAME", "TYPE", "SHAPE", "LAYOUT")
		for _, port := range s.Inputs {
			p.row("in", port.Name, port.Type, port.Shape, port.Layout)
		}
		for _, port := range s.Outputs {
			p.row("out", port.Name, port.Type, port.Shape, port.Layout)
		}
	}
	printVariables(p, m.Variables, m.Weights)
	if len(m.Assets) > 0 {
		p.section("assets")
	}
	for _, a := range m.Assets {
		p.row(a.Name, size(a.Bytes))
	}
	p.section("ops\n%s", plainLines(counts(m.Ops)))
}

// maxVariables is how many variables are printed; JSON has all.
const maxVariables = 100

func printVariables(p *printer, variables []Variable, weights int64) {
	p.section("%s, %d numbers", plural(len(variables), "variable"), weights)
	if len(variables) > 0 {
		p.row("NAME", "TYPE", "SHAPE", "COUNT")
	}
	for _, v := range variables[:min(len(variables), maxVariables)] {
		p.row(v.Name, v.Type, v.Shape, integer(v.Count))
	}
	if more := len(variables) - maxVariables; more > 0 {
		p.row(fmt.Sprintf("and %d more (-o json has all)", more))
	}
}

func (c *Checkpoint) print(p *printer) {
	if c.Latest != "" {
		p.row("latest", c.Latest)
	}
	for _, s := range c.Saved {
		p.section("checkpoint %s", plain(s.Name))
		printVariables(p, s.Variables, s.Weights)
	}
}

func (m *Model) print(p *printer) {
	p.section("formats")
	p.row("NAME", "KIND", "FILES", "SIZE")
	for _, f := range m.Formats {
		p.row(f.Name, f.Kind.words(), integer(int64(f.Files)), size(f.Bytes))
	}
	for _, f := range m.Formats {
		if f.Error != "" || f.SavedModel != nil || f.TFLite != nil || f.ONNX != nil {
			p.section("%s", plain(f.Name))
		}
		switch {
		case f.Error != "":
			p.row("not readable", f.Error)
		case f.SavedModel != nil:
			f.SavedModel.print(p)
		case f.TFLite != nil:
			f.TFLite.print(p)
		case f.ONNX != nil:
			f.ONNX.print(p)
		}
	}
}

func (t *TFLite) print(p *printer) {
	p.row("file", t.File)
	if t.Text != "" {
		p.row("description", t.Text)
	}
	p.row("signatures", strings.Join(t.Signatures, ", "))
	p.row("data", fmt.Sprintf("%s in %s", size(t.DataBytes), plural(t.Tensors, "tensor")))
	p.section("inputs and outputs")
	p.row("", "NAME", "TYPE", "SHAPE")
	for _, port := range t.Inputs {
		p.row("in", port.Name, port.Type, tfliteShape(port))
	}
	for _, port := range t.Outputs {
		p.row("out", port.Name, port.Type, tfliteShape(port))
	}
	p.section("ops\n%s", plainLines(counts(t.Ops)))
}

func tfliteShape(t tflite.TensorInfo) string {
	shape := []int{}
	for _, size := range t.Shape {
		shape = append(shape, int(size))
	}
	return shapeText(shape)
}

func (o *ONNX) print(p *printer) {
	p.row("file", o.File)
	p.row("producer", o.Producer)
	var opsets []string
	for _, domain := range slices.Sorted(maps.Keys(o.Opsets)) {
		opsets = append(opsets, strings.TrimSpace(fmt.Sprintf("%s %d", domain, o.Opsets[domain])))
	}
	p.row("opset", strings.Join(opsets, ", "))
	p.row("data", fmt.Sprintf("%s in %s", size(o.WeightBytes), plural(o.Initializers, "initializer")))
	p.section("inputs and outputs")
	p.row("", "NAME", "TYPE", "SHAPE")
	for _, port := range o.Inputs {
		p.row("in", port.Name, port.Type, "["+strings.Join(port.Shape, ", ")+"]")
	}
	for _, port := range o.Outputs {
		p.row("out", port.Name, port.Type, "["+strings.Join(port.Shape, ", ")+"]")
	}
	printNotes(p, slices.Concat(o.Inputs, o.Outputs))
	p.section("ops\n%s", plainLines(counts(o.Ops)))
}

// printNotes prints what the file says of its inputs and outputs; a note that several share only
// once.
func printNotes(p *printer, ports []onnx.ValueInfo) {
	var notes []string
	of := map[string][]string{}
	for _, port := range ports {
		note := strings.TrimPrefix(port.Doc, port.Name+" ")
		if note == "" {
			continue
		}
		if of[note] == nil {
			notes = append(notes, note)
		}
		of[note] = append(of[note], port.Name)
	}
	if len(notes) > 0 {
		p.section("notes")
	}
	for _, note := range notes {
		fmt.Fprintf(p.w, "%s:\n  %s\n", plainLines(wrap(strings.Join(of[note], ", "), 120)), plain(note))
	}
}

func (l *Lineage) print(p *printer) {
	for _, line := range [][2]string{
		{"type", l.Type}, {"digest", l.Digest}, {"execution", l.Execution}, {"attempt", l.Attempt}, {"module", l.Module},
		{"base model", l.BaseModel},
	} {
		if line[1] != "" {
			p.row(line[0], line[1])
		}
	}
	if !l.Finished.IsZero() {
		p.row("trained", fmt.Sprintf("%s, in %s", l.Finished.Format(time.RFC3339), l.Finished.Sub(l.Started).Round(time.Millisecond)))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Metrics)) {
		p.row(name, value(l.Metrics[name]))
	}
	if l.Skew != nil {
		p.row("skew", l.Skew.String())
	}
	for _, in := range l.Inputs {
		p.row("input", strings.TrimSpace(in.Type+" "+in.URI))
	}
}

// String returns the figures in one line, or why there are none.
func (s *Skew) String() string {
	if s.Rows == 0 {
		return s.asked() + "not compared: " + cmp.Or(s.NotCompared, strings.TrimPrefix(s.Note, "not checked: "))
	}
	rows := "transformed rows"
	if s.Raw {
		rows = "raw rows"
	}
	figures := fmt.Sprintf("at most %.3g apart in %d %s, within the tolerance %v", s.MaxAbs, s.Rows, rows, s.Tolerance)
	if s.NotCompared != "" {
		return fmt.Sprintf("%sno skew of transformed features: %s; answers not compared: %s", s.asked(), figures, s.NotCompared)
	}
	return "none: answers " + figures
}

// asked returns how many rows were served without an error.
func (s *Skew) asked() string {
	if s.Asked == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows served, ", s.Asked)
}
