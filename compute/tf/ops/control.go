package ops

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Function is a function of the graph's library, compiled for an op that runs it: a loop's body, a
// branch that is taken or not.
type Function interface {
	// Types are the dtypes of its results.
	Types() []tensor.DType

	// Apply runs it in memory of its own, which it releases from the budget, except the results.
	// most limits the elements that a tensor may have.
	Apply(args []Value, most int, b *Budget) ([]Value, error)
}

// buildIf runs one of two functions.
func buildIf(n *Node) (Kernel, error) {
	if len(n.In) == 0 || n.In[0] != tensor.Bool {
		return nil, errors.New("the condition is no bool")
	}
	then, err := n.Function("then_branch", n.In[1:])
	if err != nil {
		return nil, err
	}
	otherwise, err := n.Function("else_branch", n.In[1:])
	if err != nil {
		return nil, err
	}
	n.Out = n.attr("Tout").GetList().GetType()
	if err := sameTypes(n.Out, then, otherwise); err != nil {
		return nil, err
	}
	return func(c *Call) error {
		yes, err := truth(c.In[0])
		if err != nil {
			return err
		}
		branch := otherwise
		if yes {
			branch = then
		}
		results, err := branch.Apply(c.In[1:], c.Most, c.Budget)
		if err != nil {
			return err
		}
		copy(c.Out, results)
		return nil
	}, nil
}

// truth returns the value of a scalar, or whether a tensor has elements.
func truth(v Value) (bool, error) {
	a, ok := v.(*tensor.Array[bool])
	if !ok {
		return false, errors.New("the condition is no bool")
	}
	if len(a.Dims) > 0 {
		return len(a.Data) > 0, nil
	}
	return a.Data[0], nil
}

func sameTypes(want []tensor.DType, functions ...Function) error {
	for _, f := range functions {
		have := f.Types()
		if len(have) != len(want) {
			return fmt.Errorf("a function gives %d results, wants %d", len(have), len(want))
		}
		for i := range want {
			if have[i] != want[i] {
				return fmt.Errorf("result %d is %v, wants %v", i, have[i], want[i])
			}
		}
	}
	return nil
}

// maxPasses limits the passes of a loop. tf.Transform loops over the rows of a batch, or a few
// times.
const maxPasses = 1 << 24

// buildWhile runs a function on its own results while another one returns true.
func buildWhile(n *Node) (Kernel, error) {
	condition, err := n.Function("cond", n.In)
	if err != nil {
		return nil, err
	}
	body, err := n.Function("body", n.In)
	if err != nil {
		return nil, err
	}
	n.Out = n.In
	if err := errors.Join(sameTypes(n.In, body), sameTypes([]tensor.DType{tensor.Bool}, condition)); err != nil {
		return nil, err
	}
	return func(c *Call) error {
		state := append([]Value(nil), c.In...)
		start := c.Budget.Mark()
		for range maxPasses {
			answer, err := condition.Apply(state, c.Most, c.Budget)
			if err != nil {
				return err
			}
			on, err := truth(answer[0])
			if err != nil {
				return err
			}
			if !on {
				copy(c.Out, state)
				return nil
			}
			if state, err = body.Apply(state, c.Most, c.Budget); err != nil {
				return err
			}
			// The values of the previous pass aren't needed any more.
			c.Budget.Rewind(start, SizeOfNew(state, c.In))
		}
		return fmt.Errorf("loops more than %d times", maxPasses)
	}, nil
}

// SizeOfNew returns the memory of the values that differ from the earlier ones at the same index.
func SizeOfNew(values, old []Value) int64 {
	total := int64(0)
	for i, v := range values {
		if i >= len(old) || v != old[i] {
			total += SizeOf(v)
		}
	}
	return total
}
