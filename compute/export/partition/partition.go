package partition

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Graph returns the nodes of g that its outputs need and that a file can represent, by holds, and
// the inputs of such a file, in g's order; an input that replaces a node is where that node was
// used first. A node may be left out only if it computes an input's ids; another one that can't be
// represented is an error that names it. The result shares params and attributes with g.
func Graph(g *nn.Graph, holds func(nn.Op) bool) (*nn.Graph, []Input, error) {
	types, err := g.Types()
	if err != nil {
		return nil, nil, err
	}
	c := cutter{whole: g, types: types, holds: holds, needed: map[string]bool{}, sources: map[string]Source{}}
	if err := c.mark(); err != nil {
		return nil, nil, err
	}
	rest := c.rest()
	return rest, c.describe(rest.Inputs), nil
}

type cutter struct {
	whole   *nn.Graph
	types   map[string]nn.Type
	holds   func(nn.Op) bool
	needed  map[string]bool   // inputs, params and nodes that stay
	sources map[string]Source // of the nodes that are left out
}

// mark follows the graph from the outputs back to their operands, and stops at nodes that are left
// out.
func (c *cutter) mark() error {
	for _, out := range c.whole.Outputs {
		c.needed[out.Node] = true
	}
	for i := len(c.whole.Nodes) - 1; i >= 0; i-- {
		n := c.whole.Nodes[i]
		if !c.needed[n.Name] {
			continue
		}
		if !c.holds(n.Op) {
			if err := c.leaveOut(n); err != nil {
				return err
			}
			continue
		}
		for _, in := range n.In {
			c.needed[in] = true
		}
	}
	return nil
}

// leaveOut leaves out a look-up of an input's strings, or a cross of inputs; nothing else can be
// described to callers.
func (c *cutter) leaveOut(n nn.Node) error {
	looksUp := n.Op == nn.OpVocab || n.Op == nn.OpHash || n.Op == nn.OpCross
	for _, name := range n.In {
		looksUp = looksUp && slices.ContainsFunc(c.whole.Inputs, func(in nn.Input) bool { return in.Name == name })
	}
	if !looksUp {
		return fmt.Errorf("node %q: op %s can't be expressed in this format", n.Name, n.Op)
	}
	c.sources[n.Name] = sourceOf(n)
	return nil
}

// rest returns the graph of the nodes that stay, in the order of the whole.
func (c *cutter) rest() *nn.Graph {
	r := &nn.Graph{Outputs: c.whole.Outputs}
	for _, in := range c.whole.Inputs {
		if c.needed[in.Name] {
			r.Inputs = append(r.Inputs, in)
		}
		for _, n := range c.whole.Nodes {
			if s, ok := c.sources[n.Name]; ok && s.Features()[0] == in.Name {
				r.Inputs = append(r.Inputs, nn.Input{Name: n.Name, Kind: c.types[n.Name].Kind, Width: c.types[n.Name].Width})
			}
		}
	}
	for _, n := range c.whole.Nodes {
		if _, out := c.sources[n.Name]; c.needed[n.Name] && !out {
			r.Nodes = append(r.Nodes, n)
		}
	}
	for _, p := range c.whole.Params {
		if c.needed[p.Name] {
			r.Params = append(r.Params, p)
		}
	}
	return r
}

func (c *cutter) describe(inputs []nn.Input) []Input {
	all := make([]Input, len(inputs))
	for i, in := range inputs {
		all[i] = Input{Name: in.Name, Type: in.Kind.String(), Shape: [2]int{-1, in.Width}}
		if s, ok := c.sources[in.Name]; ok {
			all[i].ComputedFrom = &s
			all[i].Note = s.note()
		}
	}
	return all
}

// Input is one input of a file, with a description of what its caller has to feed.
type Input struct {
	Name  string `json:"name"`
	Type  string `json:"type"`           // float32, int64 or string
	Shape [2]int `json:"shape"`          // the first, -1, is the number of rows
	Note  string `json:"note,omitempty"` // what is expected, in words
	// The value of a row that lacks one: a number, "NaN", a string, or Bytes.
	Default any `json:"default,omitempty"`

	// ComputedFrom is set for an input that replaces values which the file can't compute itself.
	ComputedFrom *Source `json:"computed_from,omitempty"`
}

// Source describes how an input's ids are computed from the strings of a feature, value by value,
// or from several crossed features.
type Source struct {
	Feature string `json:"feature,omitempty"`
	// Instead of Feature and Default: what is crossed, in this order.
	Crossed []Side `json:"crossed,omitempty"`
	Default any    `json:"default,omitempty"` // stands for a string that a row lacks
	// The id of a string is its index here, from 0; if it is here twice, the first one.
	Vocabulary []string `json:"vocabulary,omitempty"`
	// Vocabulary, if not all of its strings are UTF-8: base64, as usual in JSON.
	Raw     [][]byte `json:"raw,omitempty"`
	Unknown int      `json:"unknown,omitempty"` // id of a string that isn't in Vocabulary
	// The id of a string is this function of its bytes, modulo Buckets.
	Hash    string `json:"hash,omitempty"`
	Buckets int    `json:"buckets,omitempty"`
}

// Side is one of the features that are crossed.
type Side struct {
	Feature string `json:"feature"`
	Default any    `json:"default,omitempty"` // stands for a value that a row lacks
}

// Features returns those from which the input's ids are computed.
func (s Source) Features() []string {
	if s.Crossed == nil {
		return []string{s.Feature}
	}
	var names []string
	for _, side := range s.Crossed {
		names = append(names, side.Feature)
	}
	return names
}

// Bytes is a string that is not UTF-8.
type Bytes struct {
	Raw []byte `json:"raw"` // base64, as usual in JSON
}

// FarmHash is the Source.Hash of OpHash: TensorFlow's StringToHashBucketFast, from
// https://github.com/google/farmhash. The 64 bits are taken as an unsigned number.
const FarmHash = "FarmHash Fingerprint64"

// CrossHash is the Source.Hash of OpCross: the function of tf.sparse.cross_hashed and Keras's
// HashedCrossing. 0xDECAFCAFFE is TensorFlow's default key.
const CrossHash = "FingerprintCat64 from 0xDECAFCAFFE over FarmHash Fingerprint64 of strings, and integers themselves"

func sourceOf(n nn.Node) Source {
	if n.Op == nn.OpCross {
		s := Source{Hash: CrossHash, Buckets: n.Attr.Depth}
		for _, in := range n.In {
			s.Crossed = append(s.Crossed, Side{Feature: in})
		}
		return s
	}
	if n.Op == nn.OpHash {
		return Source{Feature: n.In[0], Hash: FarmHash, Buckets: n.Attr.Depth}
	}
	s := Source{Feature: n.In[0], Vocabulary: n.Attr.Vocabulary, Unknown: n.Attr.Depth - 1}
	if slices.ContainsFunc(s.Vocabulary, func(token string) bool { return !utf8.ValidString(token) }) {
		for _, token := range s.Vocabulary {
			s.Raw = append(s.Raw, []byte(token))
		}
		s.Vocabulary = nil
	}
	return s
}

func (s Source) note() string {
	if s.Crossed != nil {
		return fmt.Sprintf("bucket of each combination of values of features %q, the last one's values going fastest: %s, as an unsigned "+
			"number, modulo %d, as tf.sparse.cross_hashed gives it", s.Features(), s.Hash, s.Buckets)
	}
	if s.Hash != "" {
		return fmt.Sprintf("bucket of each string of feature %q: %s of its bytes, as an unsigned number, modulo %d",
			s.Feature, s.Hash, s.Buckets)
	}
	return fmt.Sprintf("index of each string of feature %q in the vocabulary, %d for one that isn't in it", s.Feature, s.Unknown)
}
