package example

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// StructureDigest is the SHA-256, in hex, of which features the schema has: their names, types and
// shapes, what kind of domain they have, whether every example has them, and how they are
// represented as tensors. It leaves out what moves with the data when a schema is inferred anew:
// bounds and values of domains, shares of presence below 1, numbers of values that vary, and the
// order of features.
func (s *Schema) StructureDigest() string {
	structure := proto.CloneOf(s.proto)
	structure.StringDomain, structure.FloatDomain, structure.IntDomain = nil, nil, nil
	structure.Feature = structures(structure.Feature)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(structure)
	if err != nil {
		panic(err) // of a message that was just parsed
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// structures strips features of what moves with the data, and sorts them by name.
func structures(features []*schemapb.Feature) []*schemapb.Feature {
	for _, f := range features {
		switch domain := f.DomainInfo.(type) {
		case *schemapb.Feature_Domain:
			f.DomainInfo = &schemapb.Feature_StringDomain{StringDomain: &schemapb.StringDomain{}}
		case *schemapb.Feature_StringDomain:
			domain.StringDomain = &schemapb.StringDomain{}
		case *schemapb.Feature_IntDomain:
			domain.IntDomain = &schemapb.IntDomain{IsCategorical: domain.IntDomain.IsCategorical}
		case *schemapb.Feature_FloatDomain:
			domain.FloatDomain = &schemapb.FloatDomain{}
		case *schemapb.Feature_StructDomain:
			domain.StructDomain.Feature = structures(domain.StructDomain.GetFeature())
		}
		if p := f.Presence; p != nil {
			f.Presence = nil
			if p.GetMinFraction() == 1 {
				f.Presence = &schemapb.FeaturePresence{MinFraction: proto.Float64(1)}
			}
		}
		if c := f.GetValueCount(); c.GetMin() != c.GetMax() {
			f.ShapeType = &schemapb.Feature_ValueCount{ValueCount: &schemapb.ValueCount{}}
		}
	}
	slices.SortStableFunc(features, func(a, b *schemapb.Feature) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return features
}
