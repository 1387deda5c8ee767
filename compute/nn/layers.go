package nn

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// Activation is y = act(x): OpRelu, OpTanh, OpSigmoid, OpSoftplus or OpSoftmax.
func (b *Builder) Activation(name string, x Ref, act Op) Ref {
	if !isActivation(act) {
		b.fail(fmt.Errorf("layer %q: %q is no activation", name, act))
	}
	return b.node(name, x.Type, Node{Op: act, In: []string{x.Name}})
}

func isActivation(op Op) bool {
	return op == OpRelu || op == OpTanh || op == OpSigmoid || op == OpSoftplus || op == OpSoftmax
}

// LeakyRelu is x where x > 0, else alpha x.
func (b *Builder) LeakyRelu(name string, x Ref, alpha float32) Ref {
	return b.node(name, x.Type, Node{Op: OpLeakyRelu, In: []string{x.Name}, Attr: Attr{Alpha: alpha}})
}

// Apply is y = f(x), element by element: OpNeg, OpAbs, OpExp, OpLog and the like.
func (b *Builder) Apply(name string, x Ref, f Op) Ref {
	n := Node{Op: f, In: []string{x.Name}}
	if !f.elementwise() {
		b.fail(fmt.Errorf("node %q: %q is no function of each element", name, f))
	}
	return b.node(name, x.Type, n)
}

// ActivationNames returns the names that ActivationNamed knows.
func ActivationNames() []string {
	return []string{"relu", "tanh", "sigmoid", "softmax", "softplus", "linear"}
}

// ActivationNamed returns an activation by its Keras name: relu, tanh, sigmoid, softmax, softplus;
// linear is "", none.
func ActivationNamed(name string) (Op, error) {
	switch name {
	case "relu":
		return OpRelu, nil
	case "tanh":
		return OpTanh, nil
	case "sigmoid":
		return OpSigmoid, nil
	case "softmax":
		return OpSoftmax, nil
	case "softplus":
		return OpSoftplus, nil
	case "linear":
		return "", nil
	}
	return "", fmt.Errorf("unknown activation %q: expected relu, tanh, sigmoid, softmax, softplus or linear", name)
}

// Add is x + y, element by element; y has the width of x, or width 1.
func (b *Builder) Add(name string, x, y Ref) Ref { return b.combine(name, OpAdd, x, y) }

// Sub is x - y, as Add.
func (b *Builder) Sub(name string, x, y Ref) Ref { return b.combine(name, OpSub, x, y) }

// Mul is x * y, as Add.
func (b *Builder) Mul(name string, x, y Ref) Ref { return b.combine(name, OpMul, x, y) }

// Div is x / y, as Add.
func (b *Builder) Div(name string, x, y Ref) Ref { return b.combine(name, OpDiv, x, y) }

// Maximum is the larger of x and y, as Add.
func (b *Builder) Maximum(name string, x, y Ref) Ref { return b.combine(name, OpMaximum, x, y) }

// Minimum is the smaller of x and y, as Add.
func (b *Builder) Minimum(name string, x, y Ref) Ref { return b.combine(name, OpMinimum, x, y) }

func (b *Builder) combine(name string, op Op, x, y Ref) Ref {
	return b.node(name, x.Type, Node{Op: op, In: []string{x.Name, y.Name}})
}

// combined is the rule of ops on two operands, element by element. The second may be a param.
func (c *checker) combined(n *Node) (Type, error) {
	x, err := c.in(n, 0, Float32)
	if err != nil {
		return Type{}, err
	}
	if len(n.In) != 2 {
		return Type{}, fmt.Errorf("%d operands, expected 2", len(n.In))
	}
	if p := c.params[n.In[1]]; p != nil {
		if len(p.Shape) != 1 || p.Shape[0] != x.Width && p.Shape[0] != 1 {
			return Type{}, fmt.Errorf("%s with param of shape %v", x, p.Shape)
		}
		return x, nil
	}
	y, err := c.in(n, 1, Float32)
	if err == nil && y.Width != x.Width && y.Width != 1 {
		err = fmt.Errorf("operands are %s and %s", x, y)
	}
	return x, err
}

// Sum is the sum of each row, [b,1].
func (b *Builder) Sum(name string, x Ref) Ref { return b.reduce(name, OpSum, x) }

// Mean is the mean of each row, [b,1].
func (b *Builder) Mean(name string, x Ref) Ref { return b.reduce(name, OpMean, x) }

// Max is the largest of each row, [b,1]; NaN if there is one.
func (b *Builder) Max(name string, x Ref) Ref { return b.reduce(name, OpMax, x) }

func (b *Builder) reduce(name string, op Op, x Ref) Ref {
	return b.node(name, Type{Float32, 1}, Node{Op: op, In: []string{x.Name}})
}

// reduced is the rule of ops that make one number of a row.
func (c *checker) reduced(n *Node) (Type, error) {
	_, err := c.same(n, Float32)
	return Type{Float32, 1}, err
}

// Concat concatenates values: their widths add up.
func (b *Builder) Concat(name string, xs ...Ref) Ref {
	n := Node{Op: OpConcat}
	t := Type{Kind: Float32}
	for _, x := range xs {
		n.In = append(n.In, x.Name)
		t.Width += x.Type.Width
	}
	return b.node(name, t, n)
}

// concat is the rule of concatenation.
func (c *checker) concat(n *Node) (Type, error) {
	sum := Type{Kind: Float32}
	for i := range n.In {
		t, err := c.in(n, i, Float32)
		if err != nil {
			return Type{}, err
		}
		sum.Width += t.Width
	}
	if len(n.In) == 0 {
		return Type{}, fmt.Errorf("nothing to join")
	}
	return sum, nil
}

// Slice is the columns from start up to, not including, end.
func (b *Builder) Slice(name string, x Ref, start, end int) Ref {
	return b.node(name, Type{Float32, end - start}, Node{Op: OpSlice, In: []string{x.Name}, Attr: Attr{Start: start, End: end}})
}

func (c *checker) slice(n *Node) (Type, error) {
	x, err := c.same(n, Float32)
	start, end := n.Attr.Start, n.Attr.End
	if err == nil && (start < 0 || end <= start || end > x.Width) {
		err = fmt.Errorf("columns %d to %d of %s", start, end, x)
	}
	return Type{Float32, end - start}, err
}

// Normalize is y = (x - mean) * scale, by column; scale is 1/standard deviation. Training does not
// change either.
func (b *Builder) Normalize(name string, x Ref, mean, scale []float32) Ref {
	y := b.node(name+"/Sub", x.Type, Node{Op: OpSub, In: []string{x.Name, b.Constant(name+"/mean", mean...).Name}})
	return b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, b.Constant(name+"/scale", scale...).Name}})
}

// DropNaN replaces NaN by 0: after Normalize, a missing value becomes the mean.
func (b *Builder) DropNaN(name string, x Ref) Ref {
	return b.node(name, x.Type, Node{Op: OpDropNaN, In: []string{x.Name}})
}

// LayerNormalization is y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and
// variance of each row, the variance the mean of squares (Ba et al. 2016, as in Keras; an epsilon
// of 0 is Keras's default, 0.001). gamma [width] starts at 1, beta [width] at 0.
func (b *Builder) LayerNormalization(name string, x Ref, epsilon float64) Ref {
	if epsilon == 0 {
		epsilon = 1e-3
	}
	if !(epsilon > 0) {
		b.fail(fmt.Errorf("layer %q: epsilon %g, expected a number above 0", name, epsilon))
	}
	gamma, beta := b.param(name+"/gamma", initializer.Ones, x.Type.Width), b.param(name+"/beta", initializer.Zeros, x.Type.Width)
	centered := b.Sub(name+"/Sub", x, b.Mean(name+"/Mean", x))
	variance := b.Mean(name+"/Variance", b.Apply(name+"/Square", centered, OpSquare))
	deviation := b.Apply(name+"/Sqrt", b.Add(name+"/AddEpsilon", variance, b.Constant(name+"/epsilon", float32(epsilon))), OpSqrt)
	y := b.Div(name+"/Div", centered, deviation)
	y = b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, gamma}})
	return b.node(name+"/Add", x.Type, Node{Op: OpAdd, In: []string{y.Name, beta}})
}

// BatchNorm are the numbers of a BatchNormalization. The zero value is Keras's default.
type BatchNorm struct {
	Momentum float64 // of the moving averages; 0: 0.99
	Epsilon  float64 // added to the variance; 0: 0.001
	NoScale  bool    // there is no gamma
	NoCenter bool    // there is no beta
}

// BatchNormalization is y = (x - mean) / sqrt(variance + Epsilon) * gamma + beta, by column (Ioffe
// and Szegedy 2015, as Keras's). In training mean and variance are those of the batch, in which
// every row counts the same, whatever its weight; the variance is the mean of squares. Each step
// updates two params that replace them in a prediction and in a file:
//
//	moving_mean = moving_mean Momentum + mean (1 - Momentum), from 0
//	moving_deviation = sqrt(moving_deviation^2 Momentum + (variance + Epsilon) (1 - Momentum)),
//	                   from sqrt(1 + Epsilon)
//
// The second is sqrt(moving_variance + Epsilon) with Keras's moving_variance, so that a prediction
// needs only a division. gamma [width] starts at 1, beta [width] at 0.
func (b *Builder) BatchNormalization(name string, x Ref, o BatchNorm) Ref {
	o = o.withDefaults()
	if !(o.Momentum >= 0 && o.Momentum < 1) || !(o.Epsilon > 0) {
		b.fail(fmt.Errorf("layer %q: momentum %g and epsilon %g, expected 0 to below 1 and above 0", name, o.Momentum, o.Epsilon))
		return x
	}
	y := b.standardize(name, x, o)
	if !o.NoScale {
		gamma := b.param(name+"/gamma", initializer.Ones, x.Type.Width)
		y = b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, gamma}})
	}
	if !o.NoCenter {
		beta := b.param(name+"/beta", initializer.Zeros, x.Type.Width)
		y = b.node(name+"/Add", x.Type, Node{Op: OpAdd, In: []string{y.Name, beta}})
	}
	return y
}

func (o BatchNorm) withDefaults() BatchNorm {
	if o.Momentum == 0 {
		o.Momentum = 0.99
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-3
	}
	return o
}

// standardize is one node in training, and two, with the moving averages, otherwise.
func (b *Builder) standardize(name string, x Ref, o BatchNorm) Ref {
	mean := b.moving(name+"/moving_mean", x.Type.Width, 0)
	deviation := b.moving(name+"/moving_deviation", x.Type.Width, float32(math.Sqrt(1+o.Epsilon)))
	y := name + "/Div"
	b.train(Node{Name: y, Op: OpStandardize, In: []string{x.Name, mean, deviation}, Attr: Attr{Epsilon: o.Epsilon, Momentum: o.Momentum}})
	b.serve(Node{Name: name + "/Sub", Op: OpSub, In: []string{x.Name, mean}})
	b.serve(Node{Name: y, Op: OpDiv, In: []string{name + "/Sub", deviation}})
	return Ref{y, x.Type}
}

// moving adds a param that is a moving average of a training.
func (b *Builder) moving(name string, width int, start float32) string {
	p := Param{Name: name, Shape: []int{width}, Values: make([]float32, width), Moving: true}
	for i := range p.Values {
		p.Values[i] = start
	}
	return b.add(p)
}

// standardized is the rule of a value and its two moving averages.
func (c *checker) standardized(n *Node) (Type, error) {
	t, err := c.in(n, 0, Float32)
	if err != nil {
		return Type{}, err
	}
	if len(n.In) != 3 {
		return Type{}, fmt.Errorf("%d operands, expected 3", len(n.In))
	}
	for _, name := range n.In[1:] {
		p := c.params[name]
		if p == nil || !p.Moving || len(p.Shape) != 1 || p.Shape[0] != t.Width {
			return Type{}, fmt.Errorf("operand %q is no moving param of shape [%d]", name, t.Width)
		}
	}
	return t, nil
}

// Dropout sets each element of x to 0 with probability rate, 0 or more and below 1, and multiplies
// the others by 1/(1-rate), only in training: Keras's Dropout (Srivastava et al. 2014). A
// prediction uses x as it is, and a graph that is written to a file lacks the layer. The random
// elements depend on the Builder's seed, the number of Dropouts before it, and the step.
func (b *Builder) Dropout(name string, x Ref, rate float64) Ref {
	if !(rate >= 0 && rate < 1) {
		b.fail(fmt.Errorf("layer %q: dropout rate %g, expected 0 or more and below 1", name, rate))
		return x
	}
	if rate == 0 {
		return x
	}
	if b.dropouts == 0 {
		b.seed = b.rng.Uint64()
	}
	b.train(Node{Name: name, Op: OpDropout, In: []string{x.Name}, Attr: Attr{Rate: float32(rate), Seed: b.seed, Stream: b.dropouts}})
	b.dropouts++
	b.stands[name] = b.stand(x.Name)
	return Ref{name, x.Type}
}
