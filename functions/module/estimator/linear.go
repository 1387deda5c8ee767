package estimator

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// The names of variables are those that TensorFlow's canned Estimators give them.
const (
	linearPrefix = "linear/"
	linearScope  = linearPrefix + "linear_model/"
	deepPrefix   = "dnn/"
	inputScope   = deepPrefix + "input_from_feature_columns/input_layer/"
)

func linearWeights(column LinearColumn) string { return linearScope + column.Name() + "/weights" }

// linear is the wide part: logits = sum over columns of their weights + bias, all from 0.
func linear(c *columns, of []LinearColumn, units int) (nn.Ref, error) {
	sorted, err := byName(of)
	if err != nil {
		return nn.Ref{}, fmt.Errorf("linear feature columns: %w", err)
	}
	var sum nn.Ref
	for i, column := range sorted {
		share, err := column.weigh(c, units)
		switch {
		case err != nil:
			return nn.Ref{}, fmt.Errorf("linear feature columns: %w", err)
		case i == 0:
			sum = share
		default:
			sum = c.Add(linearScope+column.Name()+"/sum", sum, share)
		}
	}
	return c.Bias(linearScope+"logits", linearScope+"bias_weights", sum), nil
}

// weighIDs looks up a weight for each id, of each place of the feature, and adds them up: the combiner sum.
func weighIDs(c *columns, column CategoricalColumn, units int) (nn.Ref, error) {
	of, err := column.ids(c)
	if err != nil {
		return nn.Ref{}, err
	}
	scope := linearScope + column.Name()
	return c.sum(c.Table(scope+"/lookup", linearWeights(column), initializer.Zeros, of.ids, of.depth, units), units, of, scope), nil
}
