package estimator

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// categories are a feature's values as ids.
type categories struct {
	ids   nn.Ref // [b, w], of 0..depth-1
	depth int

	// present [b, w] is 1 for a value and 0 where there is none, whatever stands in ids there. Without a name: there always is one.
	present nn.Ref
}

// present says where a feature has a value: TensorFlow's columns take -1 and the empty string for none.
func (c *columns) present(key string, x nn.Ref) nn.Ref {
	scope := "features/" + key + "/present"
	return c.once(scope, func(name string) nn.Ref {
		if x.Type.Kind == nn.String { // 0 for the one word, 1 for others
			return c.Cast(name, c.Vocabulary(name+"/not_empty", x, []string{""}))
		}
		one := c.one()
		return c.Minimum(name, c.Apply(name+"/square", c.Add(name+"/next", c.Cast(name+"/float", x), one), nn.OpSquare), one)
	})
}

// sum adds up the parts of x that belong to the places of a feature, each of that width, but for those without a value.
func (c *columns) sum(x nn.Ref, width int, of categories, name string) (sum nn.Ref) {
	places := of.ids.Type.Width
	for i := range places {
		part, present := x, of.present
		if places > 1 {
			part = c.Slice(fmt.Sprintf("%s/%d", name, i), x, i*width, (i+1)*width)
		}
		if places > 1 && present.Name != "" {
			present = c.Slice(fmt.Sprintf("%s/%d/present", name, i), present, i, i+1)
		}
		if present.Name != "" {
			part = c.Mul(fmt.Sprintf("%s/%d/known", name, i), part, present)
		}
		if i == 0 {
			sum = part
			continue
		}
		sum = c.Add(fmt.Sprintf("%s/%d/sum", name, i), sum, part)
	}
	return sum
}

// mean is sum over the number of values; 0 where there is none.
func (c *columns) mean(x nn.Ref, width int, of categories, name string) nn.Ref {
	sum, places := c.sum(x, width, of, name), of.ids.Type.Width
	switch {
	case places == 1:
		return sum
	case of.present.Name == "":
		return c.Div(name+"/mean", sum, c.Constant(name+"/places", float32(places)))
	}
	count := c.Maximum(name+"/count", c.Sum(name+"/present", of.present), c.one())
	return c.Div(name+"/mean", sum, count)
}

func (c *columns) one() nn.Ref {
	return c.once("features/one", func(name string) nn.Ref { return c.Constant(name, 1) })
}
