package example

import (
	"math"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// setDomain keeps the domains that say which values there are. A reference to a domain that is not
// there counts as none, as it does in TensorFlow.
func (s *Schema) setDomain(t *TensorSpec, p *schemapb.Feature) {
	t.Vocabulary = p.GetStringDomain().GetValue()
	ints := p.GetIntDomain()
	if name := p.GetDomain(); name != "" {
		for _, domain := range s.proto.GetStringDomain() {
			if domain.GetName() == name {
				t.Vocabulary = domain.GetValue()
			}
		}
		for _, domain := range s.proto.GetIntDomain() {
			if domain.GetName() == name {
				ints = domain
			}
		}
	}
	t.Categorical = ints.GetIsCategorical()
	if ints != nil && (ints.Min != nil || ints.Max != nil) {
		t.IntRange = &Range{Min: math.MinInt64, Max: math.MaxInt64}
		if ints.Min != nil {
			t.IntRange.Min = ints.GetMin()
		}
		if ints.Max != nil {
			t.IntRange.Max = ints.GetMax()
		}
	}
}
