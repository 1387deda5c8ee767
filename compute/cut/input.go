package cut

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

	// ComputedFrom is set for an input that stands in the place of what the file can't compute itself.
	ComputedFrom *Source `json:"computed_from,omitempty"`
}

// Source says how an input's ids come of the strings of a feature, value by value.
type Source struct {
	Feature    string   `json:"feature"`
	Default    any      `json:"default,omitempty"`    // stands for a string that a row lacks
	Vocabulary []string `json:"vocabulary,omitempty"` // the id of a string is its index here, from 0; of one that is here twice the first
	Raw        [][]byte `json:"raw,omitempty"`        // is Vocabulary where its strings are not all UTF-8: base64, as JSON has it
	Unknown    int      `json:"unknown,omitempty"`    // id of a string that isn't in Vocabulary
	Hash       string   `json:"hash,omitempty"`       // the id of a string is this function of its bytes, modulo Buckets
	Buckets    int      `json:"buckets,omitempty"`
}

// Bytes is a string that is not UTF-8.
type Bytes struct {
	Raw []byte `json:"raw"` // base64, as JSON has it
}

// FarmHash is the Source.Hash of OpHash: TensorFlow's StringToHashBucketFast, from https://github.com/google/farmhash. The 64 bits
// are taken as an unsigned number.
const FarmHash = "FarmHash Fingerprint64"

func sourceOf(n nn.Node) Source {
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
	if s.Hash != "" {
		return fmt.Sprintf("bucket of each string of feature %q: %s of its bytes, as an unsigned number, modulo %d",
			s.Feature, s.Hash, s.Buckets)
	}
	return fmt.Sprintf("index of each string of feature %q in the vocabulary, %d for one that isn't in it", s.Feature, s.Unknown)
}
