package partition

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Input is one input of a file, and what its caller has to feed.
type Input struct {
	Name    string `json:"name"`
	Type    string `json:"type"`              // float32, int64 or string
	Shape   [2]int `json:"shape"`             // the first, -1, is the number of rows
	Note    string `json:"note,omitempty"`    // what is expected, in words
	Default any    `json:"default,omitempty"` // stands for a value that a row lacks: a number, "NaN", a string, or Bytes

	// ComputedFrom is set for an input that replaces values which the file can't compute itself.
	ComputedFrom *Source `json:"computed_from,omitempty"`
}

// Source says how an input's ids come of the strings of a feature, value by value, or of several
// features crossed.
type Source struct {
	Feature    string   `json:"feature,omitempty"`
	Crossed    []Side   `json:"crossed,omitempty"`    // in the place of Feature and Default: what is crossed, in this order
	Default    any      `json:"default,omitempty"`    // stands for a string that a row lacks
	Vocabulary []string `json:"vocabulary,omitempty"` // the id of a string is its index here, from 0; of one that is here twice the first
	Raw        [][]byte `json:"raw,omitempty"`        // is Vocabulary where its strings are not all UTF-8: base64, as JSON has it
	Unknown    int      `json:"unknown,omitempty"`    // id of a string that isn't in Vocabulary
	Hash       string   `json:"hash,omitempty"`       // the id of a string is this function of its bytes, modulo Buckets
	Buckets    int      `json:"buckets,omitempty"`
}

// Side is one of the features that are crossed.
type Side struct {
	Feature string `json:"feature"`
	Default any    `json:"default,omitempty"` // stands for a value that a row lacks
}

// Features are those that the input's ids come of.
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
	Raw []byte `json:"raw"` // base64, as JSON has it
}

// FarmHash is the Source.Hash of OpHash: TensorFlow's StringToHashBucketFast, from
// https://github.com/google/farmhash. The 64 bits are taken as an unsigned number.
const FarmHash = "FarmHash Fingerprint64"

// CrossHash is the Source.Hash of OpCross: what tf.sparse.cross_hashed and Keras's HashedCrossing
// do. 0xDECAFCAFFE is TensorFlow's default key.
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
