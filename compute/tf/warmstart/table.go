package warmstart

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Table describes what a new model took from an old one.
type Table struct {
	// Path of the old one on this machine; not kept, because what is kept is the same on any
	// machine.
	From   string `json:"-"`
	Params []Line `json:"params"` // of the new model, in its order
	Left   []Line `json:"left"`   // weights of the old model that no param took
}

// Line is one weight.
type Line struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	Taken  bool   `json:"taken"`
	Theirs string `json:"theirs,omitempty"`      // the old model's name for it
	Old    []int  `json:"their_shape,omitempty"` // the old model's shape
	How    string `json:"how,omitempty"`         // by map, by name or by order
	// Why it was not taken, or how it was taken if that is worth knowing.
	Note string `json:"note,omitempty"`
}

func (s *starter) table() Table {
	t := Table{From: s.from.Path}
	taken := map[string]bool{}
	for i, p := range s.params {
		at := s.pairs[i]
		taken[at.theirs.Key] = taken[at.theirs.Key] || at.taken
		t.Params = append(t.Params, Line{
			Name: p.Name, Shape: p.Shape, Taken: at.taken, Theirs: at.theirs.Name, Old: at.theirs.Shape, How: at.how, Note: at.note,
		})
	}
	for _, theirs := range s.from.Tensors {
		if !taken[theirs.Key] && !s.constant(theirs.Name) {
			t.Left = append(t.Left, Line{Name: theirs.Name, Shape: theirs.Shape})
		}
	}
	return t
}

// constant reports whether a weight of the old model is one that the new one has as a constant, and
// describes there.
func (s *starter) constant(name string) bool {
	return slices.ContainsFunc(s.params, func(p nn.Param) bool { return p.Name == name && isConstant(p) })
}

// Taken returns how many params have taken something.
func (t Table) Taken() int {
	n := 0
	for _, line := range t.Params {
		if line.Taken {
			n++
		}
	}
	return n
}

// String returns the table with its columns aligned.
func (t Table) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "param\tshape\ttaken from\tshape\thow")
	for _, line := range t.Params {
		from, shape := "-", "-"
		if line.How != "" {
			from, shape = line.Theirs, fmt.Sprint(line.Old)
		}
		how := join(line.How, line.Note)
		if !line.Taken {
			how = "not taken: " + line.Note
		}
		fmt.Fprintf(w, "%s\t%v\t%s\t%s\t%s\n", line.Name, line.Shape, from, shape, how)
	}
	for _, line := range t.Left {
		fmt.Fprintf(w, "-\t-\t%s\t%v\tleft\n", line.Name, line.Shape)
	}
	w.Flush() // into memory: it can't fail
	return text.String()
}

// TableFile is the name of the files that Keep writes, without their extensions.
const TableFile = "warm_start"

// Keep writes the table into a directory, which it creates: warm_start.txt for users,
// warm_start.json for programs.
func (t Table) Keep(dir string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, TableFile+".json"), append(text, '\n'), 0o644),
			os.WriteFile(filepath.Join(dir, TableFile+".txt"), []byte(t.String()), 0o644))
	}
	if err != nil {
		return fmt.Errorf("write the table of the warm start: %w", err)
	}
	return nil
}
