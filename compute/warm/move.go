package warm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn"
)

// move is one param and the values it will have.
type move struct {
	into, values []float32
	rows         []int // of values, for each row of into; -1: as it was. nil: all as they stand
}

func (m move) do() {
	if m.rows == nil {
		copy(m.into, m.values)
		return
	}
	width := len(m.into) / len(m.rows)
	for row, old := range m.rows {
		if old >= 0 {
			copy(m.into[row*width:(row+1)*width], m.values[old*width:])
		}
	}
}

// moves reads what fits. Nothing is changed yet.
func (s *starter) moves() ([]move, error) {
	var list []move
	var failures []error
	for i, p := range s.params {
		at := &s.pairs[i]
		if at.how == "" {
			if at.told == "" {
				at.told = "no such name"
			}
			continue
		}
		m, err := s.move(p, at)
		switch {
		case errors.Is(err, errMisfit) && at.how != "by map":
			at.told = err.Error()
		case err != nil:
			failures = append(failures, fmt.Errorf("%s from %s: %w", p.Name, at.theirs.Name, err))
		default:
			at.taken, list = true, append(list, m)
		}
	}
	return list, errors.Join(failures...)
}

// errMisfit is in the chain of what keeps a weight from being taken, and nothing more.
var errMisfit = errors.New("does not fit")

// misfit is an error whose text is the reason alone.
type misfit string

func (m misfit) Error() string { return string(m) }

func (misfit) Is(target error) bool { return target == errMisfit }

func (s *starter) move(p nn.Param, at *pair) (move, error) {
	order, told, err := s.order(p, at.theirs)
	if err != nil {
		return move{}, err
	}
	values, exact, err := s.from.Values(at.theirs)
	if err != nil {
		return move{}, err
	}
	if !exact {
		told = join(told, at.theirs.DType+" rounded to float32")
	}
	at.told = told
	return move{p.Values, values, order}, nil
}

// order is the old row for each row of p, nil for all as they stand, and what is to be told of that.
func (s *starter) order(p nn.Param, theirs Tensor) (order []int, told string, err error) {
	ours, old := s.rows[p.Name], s.from.Rows(theirs)
	known := len(p.Shape) > 0 && len(ours) == p.Shape[0] && len(theirs.Shape) > 0 && len(old) == theirs.Shape[0]
	fits := slices.Equal(p.Shape, theirs.Shape)
	if !known {
		if !fits {
			return nil, "", misfit(fmt.Sprintf("shape %v against %v", theirs.Shape, p.Shape))
		}
		if ours != nil {
			told = "rows as they stand: what they stood for isn't known"
		}
		return nil, told, nil
	}
	if len(p.Shape) != len(theirs.Shape) || !slices.Equal(p.Shape[1:], theirs.Shape[1:]) {
		return nil, "", misfit(fmt.Sprintf("shape %v against %v", theirs.Shape, p.Shape))
	}
	return remap(ours, old)
}

// join puts what is to be told behind each other, leaving out what is nothing.
func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}
