package transform

import (
	"errors"
	"fmt"
)

// buildIf runs one of two functions.
func buildIf(n *node) (kernel, error) {
	if len(n.in) == 0 || n.in[0] != boolType {
		return nil, errors.New("the condition is no bool")
	}
	then, err := n.function("then_branch", n.in[1:])
	if err != nil {
		return nil, err
	}
	otherwise, err := n.function("else_branch", n.in[1:])
	if err != nil {
		return nil, err
	}
	n.out = n.attr("Tout").GetList().GetType()
	if err := sameTypes(n.out, then, otherwise); err != nil {
		return nil, err
	}
	return func(c *call) error {
		yes, err := truth(c.in[0])
		if err != nil {
			return err
		}
		branch := otherwise
		if yes {
			branch = then
		}
		results, err := branch.apply(c.in[1:], c.most)
		if err != nil {
			return err
		}
		copy(c.out, results)
		return nil
	}, nil
}

// truth is a scalar, or whether there is anything at all.
func truth(v value) (bool, error) {
	a, ok := v.(*array[bool])
	if !ok {
		return false, errors.New("the condition is no bool")
	}
	if len(a.dims) > 0 {
		return len(a.data) > 0, nil
	}
	return a.data[0], nil
}

func sameTypes(want []dtype, plans ...*plan) error {
	for _, p := range plans {
		if len(p.types) != len(want) {
			return fmt.Errorf("a function gives %d results, wants %d", len(p.types), len(want))
		}
		for i := range want {
			if p.types[i] != want[i] {
				return fmt.Errorf("result %d is %v, wants %v", i, p.types[i], want[i])
			}
		}
	}
	return nil
}

// maxPasses bounds a loop. tf.Transform loops over the rows of a batch, or a few times.
const maxPasses = 1 << 24

// buildWhile runs a function on its own results while another says so.
func buildWhile(n *node) (kernel, error) {
	condition, err := n.function("cond", n.in)
	if err != nil {
		return nil, err
	}
	body, err := n.function("body", n.in)
	if err != nil {
		return nil, err
	}
	n.out = n.in
	if err := errors.Join(sameTypes(n.in, body), sameTypes([]dtype{boolType}, condition)); err != nil {
		return nil, err
	}
	return func(c *call) error {
		state := append([]value(nil), c.in...)
		for range maxPasses {
			answer, err := condition.apply(state, c.most)
			if err != nil {
				return err
			}
			on, err := truth(answer[0])
			if err != nil {
				return err
			}
			if !on {
				copy(c.out, state)
				return nil
			}
			if state, err = body.apply(state, c.most); err != nil {
				return err
			}
		}
		return fmt.Errorf("loops more than %d times", maxPasses)
	}, nil
}
