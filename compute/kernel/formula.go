package kernel

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Formula defines how an optimizer updates a weight w from its gradient g, the slots that it keeps
// for each weight, and numbers that all weights share. It is a short program that every ISA and
// every plan.Machine can execute, so that an optimizer is written once. Formulas for which this
// package has assembly are faster and give the same bits. A Formula is immutable.
type Formula struct {
	name           string
	slots, numbers int
	code           []Instruction
}

// Instruction is To = Op(X, Y) on registers: w, g, MaxSlots slots, MaxNumbers numbers, then
// intermediate values. Operations with one operand ignore Y.
type Instruction struct {
	Op       FormulaOp
	To, X, Y uint8
}

// FormulaOp is an operation of a Formula.
type FormulaOp uint8

// The operations. Those with two operands come first, numbered as in Binary.
const (
	OpAdd FormulaOp = iota
	OpSub
	OpMul
	OpDiv
	OpMax
	OpMin
	OpSqrt
	OpNeg
	OpAbs
	OpSign
)

// The limits of a Formula.
const (
	MaxSlots        = 3
	MaxNumbers      = 6
	MaxInstructions = 24
	Registers       = 16

	firstSlot   = 2
	firstNumber = firstSlot + MaxSlots
	firstValue  = firstNumber + MaxNumbers
)

// Name identifies the formula in tests and messages.
func (f *Formula) Name() string { return f.name }

// Slots returns how many slots the formula keeps for each weight.
func (f *Formula) Slots() int { return f.slots }

// Code returns the formula's instructions, which must not be modified.
func (f *Formula) Code() []Instruction { return f.code }

// functions are the functions that a formula may call; unary ones have one operand.
var functions = map[string]struct {
	op       FormulaOp
	operands int
}{"sqrt": {OpSqrt, 1}, "abs": {OpAbs, 1}, "sign": {OpSign, 1}, "max": {OpMax, 2}, "min": {OpMin, 2}}

var operators = map[token.Token]FormulaOp{token.ADD: OpAdd, token.SUB: OpSub, token.MUL: OpMul, token.QUO: OpDiv}

// NewFormula compiles the lines of a formula, each of the form "name = expression" in Go's syntax:
// + - * / and the functions sqrt, abs, sign, max and min of w, g, and the named slots and numbers.
// A line assigns to w, to a slot, or to a new name that later lines use; the last line assigns to
// w. Every operation rounds to float32. slots and numbers are names separated by spaces. NewFormula
// panics if the formula is malformed or too long, which is a mistake in the program.
func NewFormula(name, slots, numbers string, lines ...string) *Formula {
	c := &compiler{names: map[string]uint8{"w": 0, "g": 1}, next: firstValue}
	f := &Formula{name: name, slots: c.declare(slots, firstSlot, MaxSlots), numbers: c.declare(numbers, firstNumber, MaxNumbers)}
	for _, line := range lines {
		if err := c.line(line); err != nil {
			panic(fmt.Sprintf("kernel: formula %s: %q: %v", name, line, err))
		}
	}
	if f.code = c.code; len(f.code) == 0 || f.code[len(f.code)-1].To != 0 || len(f.code) > MaxInstructions {
		panic(fmt.Sprintf("kernel: formula %s: expected 1 to %d instructions, the last of which assigns to w", name, MaxInstructions))
	}
	return f
}

// compiler translates lines into instructions.
type compiler struct {
	names map[string]uint8
	next  uint8 // the first free register
	code  []Instruction
}

// declare assigns registers to names and returns their number.
func (c *compiler) declare(list string, first, most int) int {
	names := strings.Fields(list)
	if len(names) > most {
		panic(fmt.Sprintf("kernel: %q: expected at most %d names", list, most))
	}
	for i, name := range names {
		c.names[name] = uint8(first + i)
	}
	return len(names)
}

func (c *compiler) line(line string) error {
	left, right, ok := strings.Cut(line, " = ")
	if !ok {
		return fmt.Errorf("expected an assignment")
	}
	expression, err := parser.ParseExpr(right)
	if err != nil {
		return err
	}
	to, known := c.names[left]
	if known && (to == 1 || to >= firstNumber) {
		return fmt.Errorf("%s must not be assigned to", left)
	}
	if !known {
		to = c.next
		c.next++
	}
	free := c.next
	if _, err := c.expression(expression, &to); err != nil {
		return err
	}
	c.names[left], c.next = to, free
	return nil
}

// expression emits the instructions of e and returns the register of its value: *to, or a free one
// if to is nil.
func (c *compiler) expression(e ast.Expr, to *uint8) (uint8, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.expression(e.X, to)
	case *ast.Ident:
		if register, known := c.names[e.Name]; known && to == nil {
			return register, nil
		}
		return 0, fmt.Errorf("%s is unknown, or a copy", e.Name)
	case *ast.BinaryExpr:
		if op, known := operators[e.Op]; known {
			return c.emit(op, to, e.X, e.Y)
		}
	case *ast.UnaryExpr:
		if e.Op == token.SUB {
			return c.emit(OpNeg, to, e.X)
		}
	case *ast.CallExpr:
		name, _ := e.Fun.(*ast.Ident)
		if name == nil {
			break
		}
		if f, known := functions[name.Name]; known && f.operands == len(e.Args) {
			return c.emit(f.op, to, e.Args...)
		}
	}
	return 0, fmt.Errorf("expected + - * /, sqrt, abs, sign, max or min")
}

// emit appends op of the operands, whose intermediate registers are free again afterwards.
func (c *compiler) emit(op FormulaOp, to *uint8, operands ...ast.Expr) (uint8, error) {
	free, in := c.next, Instruction{Op: op}
	for i, register := range []*uint8{&in.X, &in.Y}[:len(operands)] {
		var err error
		if *register, err = c.expression(operands[i], nil); err != nil {
			return 0, err
		}
	}
	if c.next = free; to == nil {
		to = new(uint8)
		*to = c.next
		c.next++
	}
	in.To = *to
	if slices.Max([]uint8{in.To, c.next - 1}) >= Registers {
		return 0, fmt.Errorf("more than %d registers are needed", Registers)
	}
	c.code = append(c.code, in)
	return in.To, nil
}

// The formulas of Keras 3's optimizers for which this package has assembly. A new optimizer needs
// no assembly: its formula is defined next to it in compute/nn/optim.
var (
	SGD      = NewFormula("sgd", "", "rate", "w = w - rate*g")
	Momentum = NewFormula("momentum", "m", "rate mu", "m = mu*m - rate*g", "w = w + m")
	Nesterov = NewFormula("nesterov", "m", "rate mu", "change = rate*g", "m = mu*m - change", "w = w + (mu*m - change)")

	// Adam has a rate that is corrected for the bias of the step, newer1 = 1 - Beta1 and newer2 = 1
	// - Beta2.
	Adam = NewFormula("adam", "m v", "rate newer1 newer2 epsilon",
		"m = m + (g-m)*newer1",
		"v = v + (g*g-v)*newer2",
		"w = w - rate*m/(sqrt(v)+epsilon)")

	Adagrad = NewFormula("adagrad", "a", "rate epsilon", "a = a + g*g", "w = w - rate*g/sqrt(a+epsilon)")

	// FTRL has twiceL2 = 2 L2.
	FTRL = NewFormula("ftrl", "a z", "rate l1 twiceL2",
		"before = sqrt(a)",
		"a = a + g*g",
		"now = sqrt(a)",
		"z = z + (g - (now-before)/rate*w)",
		"w = (max(min(z, l1), -l1) - z) / (now/rate + twiceL2)")

	// RMSprop and its variants have newer = 1 - Rho. All have the same slots, so that a state fits
	// each of them.
	RMSprop                 = rmsprop("rmsprop", false, false)
	RMSpropMomentum         = rmsprop("rmsprop momentum", false, true)
	RMSpropCentered         = rmsprop("rmsprop centered", true, false)
	RMSpropCenteredMomentum = rmsprop("rmsprop centered momentum", true, true)
)

func rmsprop(name string, centered, momentum bool) *Formula {
	lines := []string{"v = rho*v + newer*(g*g)", "change = rate*g/sqrt(v+epsilon)"}
	if centered {
		lines = []string{lines[0], "a = rho*a + newer*g", "change = rate*g/sqrt(v-a*a+epsilon)"}
	}
	if momentum {
		lines = append(lines, "m = mu*m + change", "w = w - m")
	} else {
		lines = append(lines, "w = w - change")
	}
	return NewFormula(name, "v m a", "rate rho newer epsilon mu", lines...)
}

// Numbers are the numbers of a formula, in the order of their names. They are float64, since 1 -
// Beta2 of a float32 would be wrong in the fifth digit; they are rounded to float32 for the
// formula, as in Keras.
type Numbers [MaxNumbers]float64

// Rule is one step of an optimizer.
type Rule struct {
	Formula *Formula
	Numbers Numbers
	Decay   float64 // w -= Decay w before the formula: a rate times a weight decay, as in AdamW
}

// Rounded returns the numbers of the formula and the decay, rounded for the arithmetic.
func (r *Rule) Rounded() (numbers [MaxNumbers]float32, decay float32) {
	for i, x := range r.Numbers {
		numbers[i] = float32(x)
	}
	return numbers, float32(r.Decay)
}
