package warmstart

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Start copies weights of from into params. It pairs them:
//
//   - as the rules' map says;
//   - by name, where the old model's names were chosen and not counted (Tensor.Positional);
//   - if the old model has counted names: of what is left, the first kernel with the first kernel
//     and so on, by kind in the order of both models.
//
// Shapes must be equal, except for a weight whose rows are known on both sides: there each row is
// copied to the row with the same meaning, new rows keep their initial values, and the first axis
// may have grown or shrunk. rows are those of params, by name (GraphRows). Params that aren't
// trainable are no weights and stay as they are.
//
// Start returns the Table also with an error. It returns an error, and leaves the params unchanged,
// if it took no weight at all, or if the map can't be applied.
func Start(params []nn.Param, rows map[string]Rows, from *Source, rules Rules) (Table, error) {
	s := starter{params: params, rows: rows, from: from}
	return s.start(rules)
}

func (s *starter) start(rules Rules) (Table, error) {
	expressions, err := rules.compile()
	if err != nil {
		return Table{}, fmt.Errorf("warm start: %w", err)
	}
	s.used, s.pairs = map[string]bool{}, make([]pair, len(s.params))
	s.leaveOut(expressions)
	if err := s.byMap(rules.Map); err != nil {
		return Table{}, fmt.Errorf("warm start: map: %w", err)
	}
	s.byName()
	s.byOrder()
	moves, err := s.moves()
	if err != nil {
		return s.table(), fmt.Errorf("warm start: %w", err)
	}
	if len(moves) == 0 {
		return s.table(), fmt.Errorf("warm start: no weight of the old model fits one of the new:\n%v", s.table())
	}
	for _, m := range moves {
		m.do()
	}
	return s.table(), nil
}

// StartFrom is Start for a network of Stoker and the model at path (Open). Columns of the weights
// that compute its logits are copied to those of the same class, like rows: classes may be in
// another order, columns of new ones keep their initial values, and the single logit of two classes
// that have changed places is negated. If one side's classes aren't known, columns are copied in
// their order, and the table notes it.
func StartFrom(path string, n Network, rules Rules) (Table, error) {
	from, err := Open(path)
	if err != nil {
		return Table{}, err
	}
	var vocabularies map[string]Vocabulary
	if n.TransformGraph != "" {
		if vocabularies, err = TransformVocabularies(n.TransformGraph); err != nil {
			return Table{}, err
		}
	}
	s := starter{params: n.Graph.Params, rows: GraphRows(n.Graph, vocabularies), classes: n.classesOf(from.Classes), from: from}
	return s.start(rules)
}

// starter pairs params with weights.
type starter struct {
	params  []nn.Param
	rows    map[string]Rows
	classes classes
	from    *Source
	pairs   []pair          // by param
	used    map[string]bool // weights that have a param, by key
}

// pair is what was decided for a param.
type pair struct {
	theirs Weight
	how    string // by map, by name, by order; "": none was found
	taken  bool
	note   string // a note, or why no weight was taken
}

func (s *starter) open(i int) bool { return s.pairs[i].how == "" && s.pairs[i].note == "" }

func (s *starter) leaveOut(expressions chosen) {
	for i, p := range s.params {
		if isConstant(p) {
			s.pairs[i].note = "a constant of this run's data, no weight"
			continue
		}
		s.pairs[i].note = expressions.leftOut(p.Name)
	}
}

// isConstant reports whether a param depends only on this run's data: it is neither learned nor, as
// the averages of batch normalization, collected in training.
func isConstant(p nn.Param) bool { return !p.Trainable && !p.Moving }

func (s *starter) pair(i int, theirs Weight, how string) {
	s.pairs[i].theirs, s.pairs[i].how = theirs, how
	s.used[theirs.Key] = true
}

func (s *starter) byMap(names map[string]string) error {
	for _, ours := range slices.Sorted(maps.Keys(names)) {
		i := slices.IndexFunc(s.params, func(p nn.Param) bool { return p.Name == ours })
		if i < 0 {
			return fmt.Errorf("the new model has no %s", ours)
		}
		theirs, ok := s.from.find(names[ours])
		switch {
		case !ok:
			return fmt.Errorf("%s: the old model has no %s", ours, names[ours])
		case !s.open(i):
			return fmt.Errorf("%s: %s", ours, s.pairs[i].note)
		}
		s.pair(i, theirs, "by map")
	}
	return nil
}

func (s *starter) byName() {
	for i, p := range s.params {
		if theirs, ok := s.from.find(p.Name); ok && s.open(i) && !theirs.Positional && !s.used[theirs.Key] {
			s.pair(i, theirs, "by name")
		}
	}
}

// byOrder pairs the remaining params, kind by kind.
func (s *starter) byOrder() {
	if !slices.ContainsFunc(s.from.Tensors, func(t Weight) bool { return t.Positional && !s.used[t.Key] }) {
		return
	}
	left := map[string][]Weight{}
	for _, t := range s.from.Tensors {
		if k := kind(t.Name, t.Shape); !s.used[t.Key] {
			left[k] = append(left[k], t)
		}
	}
	for i, p := range s.params {
		k := kind(p.Name, p.Shape)
		if s.open(i) && len(left[k]) > 0 {
			s.pair(i, left[k][0], "by order")
			left[k] = left[k][1:]
		}
	}
}
