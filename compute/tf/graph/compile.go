package graph

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Limits of the compiled graph: functions that call each other may unfold into far more than a file
// contains.
const (
	maxNodes = 1 << 17
	maxCalls = 64 // of functions, one within another
)

// compiler makes a plan of one function. Only nodes that the results need are compiled; calls of
// functions are unfolded; nodes that depend only on constants are computed at compile time.
type compiler struct {
	library map[string]*functionpb.FunctionDef
	session *Session
	plan    *plan
	types   []tensor.DType // by slot
	spent   *spent
}

// spent counts what was compiled so far, in a plan and the plans that contain it.
type spent struct {
	nodes int
	grown int64 // bytes of tensors that were computed
}

// scope is one unfolded call of a function, or the top graph.
type scope struct {
	*compiler
	def   *functionpb.FunctionDef // nil for the top graph
	nodes map[string]*nodepb.NodeDef
	slots map[string][]int // of arguments and of the nodes compiled so far
	open  map[string]bool  // nodes that are being compiled: a reference to one is a cycle
	feeds map[string]int   // top graph: slots of the tensors that are fed, by node:index
	depth int
}

func newCompiler(library map[string]*functionpb.FunctionDef, s *Session) *compiler {
	return &compiler{library: library, session: s, plan: &plan{}, spent: new(spent)}
}

func (c *compiler) slot(t tensor.DType, v ops.Value) int {
	c.types, c.plan.start = append(c.types, t), append(c.plan.start, v)
	return len(c.types) - 1
}

// newScope begins a call of def with the values of the slots.
func (c *compiler) newScope(def *functionpb.FunctionDef, args []int, depth int) (*scope, error) {
	if depth > maxCalls {
		return nil, fmt.Errorf("function %s: more than %d calls one within another", def.GetSignature().GetName(), maxCalls)
	}
	s := &scope{
		compiler: c, def: def, depth: depth,
		nodes: c.session.nodesOf(def), slots: map[string][]int{}, open: map[string]bool{},
	}
	declared := def.GetSignature().GetInputArg()
	if len(declared) != len(args) {
		return nil, fmt.Errorf("function %s takes %d arguments, not %d", def.GetSignature().GetName(), len(declared), len(args))
	}
	for i, a := range declared {
		if have := c.types[args[i]]; a.GetType() != have {
			return nil, fmt.Errorf("function %s: argument %d is %v, not %v", def.GetSignature().GetName(), i, a.GetType(), have)
		}
		s.slots[a.GetName()] = []int{args[i]}
	}
	return s, nil
}

// result compiles what output i of the function needs.
func (s *scope) result(i int) (int, error) {
	name := s.def.GetSignature().GetOutputArg()[i].GetName()
	ref, ok := s.def.GetRet()[name]
	if !ok {
		return 0, fmt.Errorf("function %s: result %s isn't there", s.def.GetSignature().GetName(), name)
	}
	return s.resolve(ref)
}

// results compiles all outputs.
func (s *scope) results() ([]int, error) {
	var list []int
	for i := range s.def.GetSignature().GetOutputArg() {
		slot, err := s.result(i)
		if err != nil {
			return nil, err
		}
		list = append(list, slot)
	}
	return list, nil
}

// resolve compiles the node of a reference: argument, or node:output:index.
func (s *scope) resolve(ref string) (int, error) {
	if slot, ok := s.feeds[canonical(ref)]; ok {
		return slot, nil
	}
	name := nodeOf(ref)
	def := s.nodes[name]
	if slots, ok := s.slots[name]; ok && def == nil {
		return slots[0], nil
	}
	if def == nil {
		return 0, fmt.Errorf("input %q: no such node", ref)
	}
	if _, done := s.slots[name]; !done {
		if err := s.compile(def); err != nil {
			return 0, err
		}
	}
	place, err := outputPlace(def, outputPath(ref))
	if err != nil {
		return 0, fmt.Errorf("input %q: %w", ref, err)
	}
	if slots := s.slots[name]; place < len(slots) {
		return slots[place], nil
	}
	return 0, fmt.Errorf("input %q: node has %d outputs", ref, len(s.slots[name]))
}

// outputPath returns the part of a reference after the node: name and index of an output.
func outputPath(ref string) []string { return strings.Split(ref, ":")[1:] }

// feed replaces a tensor of the top graph by a slot.
func (s *scope) feed(tensor string, t tensor.DType, v ops.Value) int {
	slot := s.slot(t, v)
	s.feeds[canonical(tensor)] = slot
	return slot
}

// outputPlace returns the index of output name:index among all outputs of a node. Either may be
// omitted.
func outputPlace(def *nodepb.NodeDef, path []string) (int, error) {
	place := 0
	if len(path) > 0 {
		if i, err := strconv.ParseUint(path[len(path)-1], 10, 16); err == nil {
			place = int(i)
		} else if len(path) > 1 {
			return 0, fmt.Errorf("is no reference")
		}
	}
	named, _ := ops.Find(def.GetOp())
	names := named.Outputs
	if len(path) < 2 || len(names) == 0 {
		return place, nil
	}
	i := slices.Index(names, path[0])
	if i < 0 {
		return 0, fmt.Errorf("op %s has outputs %v", def.GetOp(), names)
	}
	return place + named.Before(def, i), nil
}

// compile compiles one node, after those that it needs.
func (s *scope) compile(def *nodepb.NodeDef) error {
	name := def.GetName()
	if s.open[name] {
		return fmt.Errorf("node %s needs its own output", name)
	}
	if s.spent.nodes++; s.spent.nodes > maxNodes {
		return fmt.Errorf("graph unfolds to more than %d nodes", maxNodes)
	}
	if err := errors.Join(s.session.budget.Poll(), s.session.chargeNode(def)); err != nil {
		return fmt.Errorf("node %s (%s): %w", name, def.GetOp(), err)
	}
	s.open[name] = true
	defer delete(s.open, name)
	in, err := s.inputs(def)
	if err != nil {
		return err
	}
	if called, ok := calledFunction(def); ok {
		s.slots[name], err = s.call(called, in)
	} else if t, v, ok, wrong := s.session.resource(def); ok {
		s.slots[name], err = []int{s.slot(t, v)}, wrong
	} else {
		s.slots[name], err = s.add(def, in)
	}
	return err
}

// inputs compiles the inputs of the node. It ignores control inputs: tables are ready, and no other
// node has effects.
func (s *scope) inputs(def *nodepb.NodeDef) ([]int, error) {
	var in []int
	for _, ref := range def.GetInput() {
		if strings.HasPrefix(ref, "^") {
			continue
		}
		slot, err := s.resolve(ref)
		if err != nil {
			return nil, err
		}
		in = append(in, slot)
	}
	return in, nil
}

// calledFunction returns the function of a node that only calls one.
func calledFunction(def *nodepb.NodeDef) (string, bool) {
	switch def.GetOp() {
	case "PartitionedCall", "StatefulPartitionedCall":
		return def.GetAttr()["f"].GetFunc().GetName(), true
	}
	return "", false
}

func (s *scope) call(name string, args []int) ([]int, error) {
	def, ok := s.library[name]
	if !ok {
		return nil, fmt.Errorf("function %q isn't in the library", name)
	}
	called, err := s.compiler.newScope(def, args, s.depth+1)
	if err != nil {
		return nil, err
	}
	return called.results()
}

// add adds the step of a node to the plan, or its outcome if its inputs are known.
func (s *scope) add(def *nodepb.NodeDef, in []int) ([]int, error) {
	found, ok := ops.Find(def.GetOp())
	if op := def.GetOp(); op == "Placeholder" || op == "PlaceholderV2" {
		return nil, fmt.Errorf("node %s: is a placeholder that nothing is fed to", def.GetName())
	}
	if !ok {
		return nil, fmt.Errorf("node %s: op %s is not known", def.GetName(), def.GetOp())
	}
	n := &ops.Node{Def: def, Budget: s.session.budget}
	for _, slot := range in {
		n.In, n.Fixed = append(n.In, s.types[slot]), append(n.Fixed, s.plan.start[slot])
	}
	loops := strings.HasSuffix(def.GetOp(), "While")
	n.Function = func(attr string, args []tensor.DType) (ops.Function, error) {
		p, err := s.branch(def.GetAttr()[attr].GetFunc().GetName(), args, n.Fixed[len(n.Fixed)-len(args):])
		if err != nil {
			return nil, err
		}
		loops = loops || p.loops
		return p, nil
	}
	k, err := found.Build(n)
	if err != nil {
		return nil, fmt.Errorf("node %s: op %s: %w", def.GetName(), def.GetOp(), err)
	}
	var out []int
	for _, t := range n.Out {
		out = append(out, s.slot(t, nil))
	}
	s.plan.loops = s.plan.loops || loops
	if !loops { // which wait for a run
		folded, err := s.fold(k, n, out)
		if err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", def.GetName(), def.GetOp(), err)
		}
		if folded {
			return out, s.grow(def, out)
		}
	}
	s.plan.steps = append(s.plan.steps, step{kernel: k, in: in, out: out, node: def.GetName(), op: def.GetOp()})
	return out, nil
}

// branch compiles a function into a plan of its own: a loop's body or a branch of a condition. Its
// arguments differ from pass to pass, except variables and tables.
func (s *scope) branch(name string, args []tensor.DType, fixed []ops.Value) (*plan, error) {
	def, ok := s.library[name]
	if !ok {
		return nil, fmt.Errorf("function %q isn't in the library", name)
	}
	c := &compiler{library: s.library, session: s.session, plan: &plan{}, spent: s.spent}
	for i, t := range args {
		var v ops.Value
		if t == tensor.Resource {
			v = fixed[i]
		}
		c.plan.args = append(c.plan.args, c.slot(t, v))
	}
	inner, err := c.newScope(def, c.plan.args, s.depth+1)
	if err != nil {
		return nil, err
	}
	if c.plan.results, err = inner.results(); err != nil {
		return nil, err
	}
	for _, slot := range c.plan.results {
		c.plan.types = append(c.plan.types, c.types[slot])
	}
	return c.plan, nil
}

// Limits of the values that are computed at compile time.
const (
	maxFolded = 1 << 16 // elements of a tensor that is computed at compile time, and kept
	maxGrown  = 1 << 28 // bytes of all that are kept, except those that the file contains
)

// fold computes a node whose inputs are known, and reports whether it did. If the kernel fails,
// that may be an error in every run; only the end of the context is an error now.
func (s *scope) fold(k ops.Kernel, n *ops.Node, out []int) (bool, error) {
	if slices.Contains(n.Fixed, nil) {
		return false, nil
	}
	budget := s.session.budget
	start := budget.Mark()
	c := &ops.Call{In: n.Fixed, Out: make([]ops.Value, len(out)), Most: maxFolded, Budget: budget}
	if err := ops.Do(k, c); err != nil {
		budget.Reset(start)
		return false, budget.Poll()
	}
	for i, slot := range out {
		s.plan.start[slot] = c.Out[i]
	}
	return true, nil
}

// grow counts the bytes that a folded node keeps. The file contains the elements of a constant that
// aren't repeated. Another tensor that is larger than maxFolded isn't new, but an input that is
// passed on, or a variable.
func (s *scope) grow(def *nodepb.NodeDef, out []int) error {
	for _, slot := range out {
		t, ok := s.plan.start[slot].(tensor.Tensor)
		switch {
		case !ok:
		case def.GetOp() == "Const":
			s.spent.grown += max(0, ops.SizeOf(t)-s.session.sizes[def])
		case t.Size() <= maxFolded:
			s.spent.grown += ops.SizeOf(t)
		}
	}
	if s.spent.grown > maxGrown {
		return fmt.Errorf("node %s: constants grow to more than %d bytes", def.GetName(), maxGrown)
	}
	return nil
}
