package warmstart

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Network is a new model with the meanings of its inputs and outputs.
type Network struct {
	Graph *nn.Graph

	// TransformGraph is the directory of the transform graph that computes the network's inputs;
	// "": there is none.
	TransformGraph string

	// Logits is the output with a column for each class, or with one column for the second of two;
	// "": no classes are predicted.
	Logits string

	// Classes are the names of all classes in the order of those columns, ClassNames; nil if they
	// aren't known.
	Classes []string
}

// ClassNames returns the names of a label's classes 0, 1, 2 ...: words, if the label is one of
// them; tokens, then buckets for other ones, if a transform graph computed the label with a
// vocabulary; otherwise the numbers themselves. It returns nil if there are more words than
// classes, since then the label was computed from them in another way.
func ClassNames(classes int, words []string, feature, transformGraph string) ([]string, error) {
	if words == nil && transformGraph != "" {
		vocabularies, err := TransformVocabularies(transformGraph)
		if err != nil {
			return nil, err
		}
		words = vocabularies[feature]
	}
	if len(words) > classes {
		return nil, nil
	}
	names := slices.Clone(words)
	for id := len(names); id < classes; id++ {
		if words == nil {
			names = append(names, strconv.Itoa(id))
		} else {
			names = append(names, fmt.Sprintf("bucket %d for others", id-len(words)))
		}
	}
	return names, nil
}

// classes determines what the columns of the weights that have one column for each class represent.
type classes struct {
	weights   map[string]bool // of the new model, by name
	ours, old []string        // names of the classes; nil: not known
}

// classesOf looks for weights whose last axis is that of the logits. old are the names of the old
// model's classes.
func (n Network) classesOf(old []string) classes {
	found := classes{weights: map[string]bool{}, ours: n.Classes, old: old}
	at := slices.IndexFunc(n.Graph.Outputs, func(o nn.Output) bool { return o.Name == n.Logits })
	if n.Logits == "" || at < 0 {
		return found
	}
	w := columnWalk{nodes: map[string]nn.Node{}, params: map[string]nn.Param{}, width: n.Graph.Outputs[at].Width, found: found.weights}
	for _, node := range n.Graph.Nodes {
		w.nodes[node.Name] = node
	}
	for _, p := range n.Graph.Params {
		w.params[p.Name] = p
	}
	w.walk(n.Graph.Outputs[at].Node)
	return found
}

// opposite reports whether the single logit of two classes is that of the other class.
func (c classes) opposite() bool {
	return len(c.ours) == 2 && len(c.old) == 2 && c.ours[0] == c.old[1] && c.ours[1] == c.old[0]
}

// classColumns returns what so many columns of classes with these names represent; nil if that
// isn't known. One column is that of the second of two classes.
func classColumns(names []string, columns int) Rows {
	switch {
	case columns == 1 && len(names) == 2 && names[0] != names[1]:
		return Rows{names[1] + " rather than " + names[0]}
	case len(names) == 0 || len(names) != columns || !Rows(names).unique():
		return nil
	}
	return names
}

// columnWalk follows the graph from the logits back through nodes that keep the class of each
// column.
type columnWalk struct {
	nodes  map[string]nn.Node
	params map[string]nn.Param
	width  int
	found  map[string]bool
}

func (w columnWalk) walk(name string) {
	seen := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; {
		name, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		if p, ok := w.params[name]; ok {
			w.found[name] = len(p.Shape) > 0 && p.Shape[len(p.Shape)-1] == w.width
			continue
		}
		switch n := w.nodes[name]; n.Op {
		case nn.OpMatMul, nn.OpEmbed:
			todo = append(todo, n.In[1]) // the weight's columns; the input has others
		case nn.OpAddBias, nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv, nn.OpMaximum, nn.OpMinimum:
			todo = append(todo, n.In...)
		case nn.OpSlice: // of several lookups side by side, each with a column for each class
			if of := w.nodes[n.In[0]]; of.Op == nn.OpEmbed && n.Attr.Start%w.width == 0 {
				todo = append(todo, of.In[1])
			}
		}
	}
}
