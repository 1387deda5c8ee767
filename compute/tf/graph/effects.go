package graph

import (
	"errors"
	"fmt"
	"slices"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// run performs the effects of a node of the top graph and of all nodes that it depends on: it sets
// variables and fills tables. Other results of these nodes are not computed.
func (s *Session) run(node string) error {
	if node == "" {
		return nil
	}
	w := &walk{session: s, done: map[place]bool{}, effects: map[string]bool{}}
	return w.visit(s.newScope(), node)
}

// walk visits nodes, each after those that it needs.
type walk struct {
	session *Session
	done    map[place]bool
	effects map[string]bool // by function that was called: whether it has some
}

type place struct {
	scope *scope
	node  string
}

func (w *walk) visit(s *scope, name string) error {
	def, ok := s.nodes[name]
	if at := (place{s, name}); !ok || w.done[at] {
		return nil
	} else if len(w.done) > maxNodes {
		return fmt.Errorf("more than %d nodes come before it", maxNodes)
	} else {
		w.done[at] = true
	}
	if err := w.session.budget.Poll(); err != nil {
		return fmt.Errorf("node %s (%s): %w", name, def.GetOp(), err)
	}
	for _, in := range def.GetInput() {
		if err := w.visit(s, nodeOf(in)); err != nil {
			return err
		}
	}
	if called, ok := calledFunction(def); ok {
		return w.call(s, def, called)
	}
	if err := w.session.effect(s, def); err != nil {
		return fmt.Errorf("node %s (%s): %w", name, def.GetOp(), err)
	}
	return nil
}

// call visits the nodes of a function that has effects.
func (w *walk) call(s *scope, node *nodepb.NodeDef, name string) error {
	def, ok := s.library[name]
	if !ok {
		return fmt.Errorf("node %s: function %q isn't in the library", node.GetName(), name)
	}
	if !w.hasEffects(s, name) {
		return nil
	}
	args, err := s.inputs(node)
	if err != nil {
		return err
	}
	called, err := s.compiler.newScope(def, args, s.depth+1)
	if err != nil {
		return err
	}
	for _, n := range def.GetNodeDef() {
		if err := w.visit(called, n.GetName()); err != nil {
			return fmt.Errorf("function %s: %w", name, err)
		}
	}
	return nil
}

func (w *walk) hasEffects(s *scope, name string) bool {
	known, ok := w.effects[name]
	if !ok {
		known = s.hasEffects(name, map[string]bool{})
		w.effects[name] = known
	}
	return known
}

// hasEffects reports whether a function sets a variable or fills a table, itself or by another.
// seen are the functions that were examined before, and of which no effect was known then.
func (s *scope) hasEffects(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(s.library[name].GetNodeDef(), func(n *nodepb.NodeDef) bool {
		called, isCall := calledFunction(n)
		return isCall && s.hasEffects(called, seen) || effects[n.GetOp()] != nil
	})
}

// effects are the ops with a lasting effect, by name.
var effects = map[string]func(*Session, *scope, *nodepb.NodeDef) error{
	"AssignVariableOp": (*Session).assign, "Assign": (*Session).assign,
	"InitializeTableFromTextFileV2": (*Session).fillFromText, "InitializeTableFromTextFile": (*Session).fillFromText,
	"LookupTableImportV2": (*Session).fillFromLists, "LookupTableImport": (*Session).fillFromLists,
	"InitializeTableV2": (*Session).fillFromLists, "InitializeTable": (*Session).fillFromLists,
	"InitializeTableFromDataset": (*Session).fillFromRecords,
}

func (s *Session) effect(in *scope, def *nodepb.NodeDef) error {
	if act := effects[def.GetOp()]; act != nil {
		return act(s, in, def)
	}
	return nil
}

// assign sets a variable: to its saved value, which is read when it is needed, or to a value that
// is known.
func (s *Session) assign(in *scope, def *nodepb.NodeDef) error {
	inputs := dataInputs(def.GetInput())
	if len(inputs) != 2 {
		return fmt.Errorf("has %d inputs, wants 2", len(inputs))
	}
	v, err := s.assigned(in, inputs[0])
	if err != nil {
		return err
	}
	from, isSaved, err := in.saved(inputs[1], 0)
	if err != nil {
		return err
	}
	if isSaved {
		v.Set(func() (tensor.Tensor, error) { return s.load(from) })
		return nil
	}
	slot, err := in.resolve(inputs[1])
	if err != nil {
		return err
	}
	t, ok := in.plan.start[slot].(tensor.Tensor)
	v.Set(func() (tensor.Tensor, error) {
		if !ok {
			return nil, errors.New("is set to what isn't known beforehand")
		}
		return t, nil
	})
	return nil
}

// assigned returns the variable that a node sets: in TensorFlow 1 the node of the variable itself
// is its input.
func (s *Session) assigned(in *scope, reference string) (*ops.Variable, error) {
	if node := in.nodes[nodeOf(reference)]; node != nil && isReference(node.GetOp()) {
		return s.variable(node), nil
	}
	slot, err := in.resolve(reference)
	if err != nil {
		return nil, err
	}
	v, ok := in.plan.start[slot].(*ops.Variable)
	if !ok {
		return nil, fmt.Errorf("input %s is no variable that is known beforehand", reference)
	}
	return v, nil
}

// origin is the part of the model's bundle from which a tensor is restored.
type origin struct {
	key string
	// "" for the whole tensor; else a part of it, in the form of RestoreV2: "10 4 0,5:-"
	part string
}

// saved returns the origin of a restored tensor.
func (s *scope) saved(reference string, depth int) (from origin, ok bool, err error) {
	def := s.nodes[nodeOf(reference)]
	if def.GetOp() == "Identity" && depth < maxCalls && len(def.GetInput()) > 0 {
		return s.saved(def.GetInput()[0], depth+1)
	}
	if def.GetOp() != "RestoreV2" {
		return from, false, nil
	}
	inputs := dataInputs(def.GetInput())
	if len(inputs) != 3 {
		return from, false, fmt.Errorf("node %s has %d inputs, wants 3", def.GetName(), len(inputs))
	}
	i, err := outputPlace(def, outputPath(reference))
	if err != nil {
		return from, false, err
	}
	var lists [2][]string
	for k := range lists {
		if lists[k], err = s.texts(inputs[1+k]); err != nil {
			return from, false, fmt.Errorf("node %s: %w", def.GetName(), err)
		}
		if i >= len(lists[k]) {
			return from, false, fmt.Errorf("node %s restores %d tensors, not %d", def.GetName(), len(lists[k]), i+1)
		}
	}
	return origin{lists[0][i], lists[1][i]}, true, nil
}

// texts returns strings that are known beforehand.
func (s *scope) texts(reference string) ([]string, error) {
	slot, err := s.resolve(reference)
	if err != nil {
		return nil, err
	}
	list, ok := s.plan.start[slot].(*tensor.Array[string])
	if !ok {
		return nil, fmt.Errorf("input %s is no list of strings that is known beforehand", reference)
	}
	return list.Data, nil
}
