package warmstart

import (
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// listTensors lists the weights of a bundle in the order of the model, if the bundle or its model
// defines one.
func listTensors(p place, b *tensorbundle.Bundle, model *savedModel) ([]Weight, error) {
	variables := b.Variables()
	if slices.ContainsFunc(variables, func(v tensorbundle.Variable) bool { return v.Key == tensorbundle.ObjectGraphKey }) {
		return objectTensors(b, variables)
	}
	order, err := v1Order(p, model)
	if err != nil {
		return nil, err
	}
	return namedTensors(variables, order), nil
}

// namedTensors returns the weights of a checkpoint of TensorFlow 1, which only has their names.
// Those in order come first, in that order; the others follow in natural order.
func namedTensors(variables []tensorbundle.Variable, order []string) []Weight {
	names := map[string]bool{}
	for _, v := range variables {
		names[v.Key] = true
	}
	var list []Weight
	for _, v := range variables {
		if isWeight(v) && !isSlot(v.Key, names) && !isOptimizers(v.Key, names) {
			list = append(list, Weight{Name: v.Key, Key: v.Key, DType: v.DType, Shape: v.Shape, Positional: isPositional(v.Key), object: -1})
		}
	}
	place := map[string]int{}
	for i, name := range order {
		place[name] = i - len(order) // before 0, where all others are
	}
	slices.SortStableFunc(list, func(a, b Weight) int {
		if byOrder := place[a.Name] - place[b.Name]; byOrder != 0 {
			return byOrder
		}
		return compareNatural(a.Name, b.Name)
	})
	return list
}

// isSlot reports whether a variable of TensorFlow 1 belongs to another: dnn/kernel/Adagrad,
// dnn/kernel/part_0/Adam_1.
func isSlot(name string, names map[string]bool) bool {
	for i := range name {
		if name[i] == '/' && names[name[:i]] {
			return true
		}
	}
	return false
}

// isOptimizers reports whether a variable belongs to an optimizer of Keras that an Estimator
// trained with: training/Adagrad/learning_rate, and training/Adagrad/dnn/logits/bias/accumulator.
func isOptimizers(name string, names map[string]bool) bool {
	rest, ok := strings.CutPrefix(name, "training/")
	optimizer, _, below := strings.Cut(rest, "/")
	return ok && below && names["training/"+optimizer+"/learning_rate"]
}

// counters are the variables that TensorFlow saves in addition to weights, by the last part of
// their names.
var counters = []string{"global_step", "save_counter", "beta1_power", "beta2_power"}

// isWeight reports whether a variable has numbers that a model may have learned.
func isWeight(v tensorbundle.Variable) bool {
	switch v.DType {
	case "DT_STRING", "DT_RESOURCE", "DT_VARIANT":
		return false
	}
	if len(v.Shape) == 0 && strings.Contains(v.DType, "INT") {
		return false // a counter
	}
	name := strings.TrimSuffix(v.Key, valueSuffix)
	return !slices.Contains(counters, name[strings.LastIndexByte(name, '/')+1:])
}

// compareNatural sorts numbers in names as numbers: layer_2 before layer_10.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns how many digits s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
