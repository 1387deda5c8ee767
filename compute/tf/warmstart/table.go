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

// Table says what a new model took from an old one.
type Table struct {
	From   string `json:"-"`      // where the old one lies on this machine: no part of what is kept, for that is the same on any
	Params []Line `json:"params"` // of the new model, in its order
	Left   []Line `json:"left"`   // of the old model, what no param took
}

// Line is one weight.
type Line struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	Taken  bool   `json:"taken"`
	Theirs string `json:"theirs,omitempty"`      // the old model's name for it
	Old    []int  `json:"their_shape,omitempty"` // the old model's shape
	How    string `json:"how,omitempty"`         // by map, by name or by order
	Note   string `json:"note,omitempty"`        // why it was not taken, or what is worth knowing about how it was
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

// constant says that a weight of the old model is one that the new one has as a constant, and
// describes there.
func (s *starter) constant(name string) bool {
	return slices.ContainsFunc(s.params, func(p nn.Param) bool { return p.Name == name && isConstant(p) })
}

// Taken is how many params have taken something.
func (t Table) Taken() int {
	n := 0
	for _, line := range t.Params {
		if line.Taken {
			n++
		}
	}
	return n
}

// String is the table with its columns aligned.
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

// TableFile is the name of the files that Keep writes, but for their extensions.
const TableFile = "warm_start"

// Keep writes the table into a folder, which is made: warm_start.txt for people, warm_start.json
// for programs.
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
