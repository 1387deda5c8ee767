package warmstart

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn"
)

// move is one param and the values it will have. A weight is taken as a table: its columns are the
// last axis if those are classes, else all axes except the first one.
type move struct {
	into, values  []float32
	rows, columns axis
	negated       bool
}

// axis maps the indices along one axis of a table to those of the old values.
type axis struct {
	ours, old int
	from      []int // for each place the old one, -1: as it was. nil: all as they stand
}

func (a axis) at(i int) int {
	if a.from == nil {
		return i
	}
	return a.from[i]
}

func (m move) do() {
	for row := range m.rows.ours {
		from := m.rows.at(row)
		for column := range m.columns.ours {
			old := m.columns.at(column)
			if from < 0 || old < 0 {
				continue
			}
			value := m.values[from*m.columns.old+old]
			if m.negated {
				value = -value
			}
			m.into[row*m.columns.ours+column] = value
		}
	}
}

// moves reads the weights that fit. It doesn't change params yet.
func (s *starter) moves() ([]move, error) {
	var list []move
	var failures []error
	for i, p := range s.params {
		at := &s.pairs[i]
		if at.how == "" {
			if at.note == "" {
				at.note = "no such name"
			}
			continue
		}
		m, err := s.move(p, at)
		switch {
		case errors.Is(err, errMisfit) && at.how != "by map":
			at.note = err.Error()
		case err != nil:
			failures = append(failures, fmt.Errorf("%s from %s: %w", p.Name, at.theirs.Name, err))
		default:
			at.taken, list = true, append(list, m)
		}
	}
	return list, errors.Join(failures...)
}

// errMisfit is in the chain of an error that affects only one weight, which isn't taken.
var errMisfit = errors.New("does not fit")

// misfit is an error whose text is only the reason.
type misfit string

func (m misfit) Error() string { return string(m) }

func (misfit) Is(target error) bool { return target == errMisfit }

func (s *starter) move(p nn.Param, at *pair) (move, error) {
	m, note, err := s.fit(p, at.theirs)
	if err != nil {
		return move{}, err
	}
	values, exact, err := s.from.Values(at.theirs)
	if err != nil {
		return move{}, err
	}
	if !exact {
		note = join(note, at.theirs.DType+" rounded to float32")
	}
	if lastName(p.Name) == movingDeviation && lastName(at.theirs.Name) == movingVariance {
		epsilon := deviate(values, p.Values)
		note = join(note, fmt.Sprintf("the root of it and %.2g", epsilon))
	}
	m.into, m.values, at.note = p.Values, values, note
	return m, nil
}

// deviate replaces variances by the divisors of batch normalization, sqrt(variance + epsilon), in
// place. beginning is the divisor of the initial variance of 1, which contains epsilon.
func deviate(values, beginning []float32) (epsilon float64) {
	if len(beginning) > 0 {
		epsilon = float64(beginning[0])*float64(beginning[0]) - 1
	}
	for i, v := range values {
		values[i] = float32(math.Sqrt(float64(v) + epsilon))
	}
	return epsilon
}

// fit returns the old row and column for each of p, and a note about them. Axes may differ in
// length only where both sides' places are known.
func (s *starter) fit(p nn.Param, theirs Weight) (m move, note string, err error) {
	rows, columns := s.rowsOf(p, theirs), s.columnsOf(p, theirs)
	if !fits(p.Shape, theirs.Shape, rows.known, columns.known) {
		return m, "", misfit(fmt.Sprintf("shape %v against %v", theirs.Shape, p.Shape))
	}
	m.rows.ours, m.columns.ours = table(p.Shape, s.classes.weights[p.Name])
	m.rows.old, m.columns.old = table(theirs.Shape, s.classes.weights[p.Name])
	var noteOfRows, noteOfColumns string
	if m.rows.from, noteOfRows, err = rows.order("%d rows by what they stand for", "no row stands for the same"); err != nil {
		return m, "", err
	}
	if m.columns.from, noteOfColumns, err = columns.order("%d classes by label", "no class is the same"); err != nil {
		return m, "", err
	}
	m.negated = columns.opposite
	return m, join(noteOfRows, noteOfColumns), nil
}

// fits reports whether shapes are equal except in the first axis and the last one, if those are
// free.
func fits(ours, theirs []int, first, last bool) bool {
	if len(ours) != len(theirs) {
		return false
	}
	for i := range ours {
		if ours[i] != theirs[i] && !(first && i == 0) && !(last && i == len(ours)-1) {
			return false
		}
	}
	return true
}

// table returns how many rows and columns a weight has.
func table(shape []int, classes bool) (rows, columns int) {
	rows, columns = 1, 1
	for i, n := range shape {
		if i == 0 && !(classes && len(shape) == 1) {
			rows = n
		} else {
			columns *= n
		}
	}
	return rows, columns
}

// join joins notes, without empty ones.
func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}
