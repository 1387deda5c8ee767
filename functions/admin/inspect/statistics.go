package inspect

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Statistics are the statistics of one split, from TensorFlow Metadata's statistics.proto.
type Statistics struct {
	Split    string              `json:"split"` // "" for a file on its own
	Records  int64               `json:"records"`
	Features []FeatureStatistics `json:"features"`
}

// FeatureStatistics are the statistics of one feature. Numbers are nil if the file has none.
type FeatureStatistics struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Missing int64  `json:"missing"` // number of records without it
	Unique  int64  `json:"unique,omitempty"`
	Mean    any    `json:"mean,omitempty"`
	StdDev  any    `json:"std_dev,omitempty"`
	Min     any    `json:"min,omitempty"`
	Max     any    `json:"max,omitempty"`
	Top     string `json:"top,omitempty"` // the most frequent value
}

func inspectStatistics(ctx context.Context, s *Source) ([]Statistics, error) {
	var all []Statistics
	for _, f := range s.Files {
		if path.Base(f.Path) != statisticsFile && !s.single {
			continue
		}
		data, err := s.read(ctx, f.Path, maxMetadata)
		if err != nil {
			return nil, err
		}
		one, err := parseStatistics(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		one.Split = strings.TrimPrefix(path.Dir(f.Path), splitPrefix)
		if s.single {
			one.Split = ""
		}
		all = append(all, one)
	}
	return all, nil
}

// parseStatistics reads the first data set of a DatasetFeatureStatisticsList, the only one that TFX
// writes. Numbers of fields are those of tensorflow_metadata/proto/v0/statistics.proto.
func parseStatistics(data []byte) (Statistics, error) {
	s := Statistics{Features: []FeatureStatistics{}}
	seen := false
	err := fields(data, func(f field) error {
		if f.number != 1 || f.kind != protowire.BytesType || seen {
			return nil
		}
		seen = true
		return fields(f.bytes, func(f field) error {
			switch {
			case f.number == 2:
				s.Records = int64(f.bits)
			case f.number == 3 && len(s.Features) < maxFeatures:
				one, err := parseFeatureStatistics(f.bytes)
				s.Features = append(s.Features, one)
				return err
			}
			return nil
		})
	})
	if err == nil && !seen {
		err = fmt.Errorf("it holds no data set: expected a DatasetFeatureStatisticsList")
	}
	return s, err
}

// statisticsTypes are the types of FeatureNameStatistics.Type.
var statisticsTypes = map[uint64]string{0: "int", 1: "float", 2: "string", 3: "bytes", 4: "struct"}

func parseFeatureStatistics(data []byte) (s FeatureStatistics, err error) {
	s.Type = statisticsTypes[0]
	err = fields(data, func(f field) error {
		switch f.number {
		case 1: // name
			s.Name = string(f.bytes)
		case 8: // path, instead of a name
			var steps []string // joined at once, because there may be many
			err := fields(f.bytes, func(f field) error {
				steps = append(steps, string(f.bytes))
				return nil
			})
			s.Name = strings.Join(steps, ".")
			return err
		case 2:
			s.Type = statisticsTypes[f.bits]
		case 3:
			return s.numeric(f.bytes)
		case 4, 5, 7: // of strings, bytes and structs: the fields that are read are the same
			return s.text(f.bytes)
		}
		return nil
	})
	return s, err
}

// numeric reads NumericStatistics.
func (s *FeatureStatistics) numeric(data []byte) error {
	s.Mean, s.StdDev, s.Min, s.Max = 0.0, 0.0, 0.0, 0.0 // proto3 leaves out zeros
	return fields(data, func(f field) error {
		switch f.number {
		case 1:
			return s.common(f.bytes)
		case 2:
			s.Mean = number(f.double(), 64)
		case 3:
			s.StdDev = number(f.double(), 64)
		case 5:
			s.Min = number(f.double(), 64)
		case 7:
			s.Max = number(f.double(), 64)
		}
		return nil
	})
}

// text reads StringStatistics, and the same fields of BytesStatistics and StructStatistics.
func (s *FeatureStatistics) text(data []byte) error {
	return fields(data, func(f field) error {
		switch f.number {
		case 1:
			return s.common(f.bytes)
		case 2:
			s.Unique = int64(f.bits)
		case 3: // FreqAndValue, the most frequent first
			if s.Top != "" {
				return nil
			}
			return fields(f.bytes, func(f field) error {
				if f.number == 2 {
					s.Top = readable(f.bytes)
				}
				return nil
			})
		}
		return nil
	})
}

// common reads CommonStatistics.
func (s *FeatureStatistics) common(data []byte) error {
	return fields(data, func(f field) error {
		if f.number == 2 {
			s.Missing = int64(f.bits)
		}
		return nil
	})
}

// field is one field of a message: depending on its wire type, bytes or bits is set.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte
	bits   uint64
}

func (f field) double() float64 { return math.Float64frombits(f.bits) }

// fields calls do for each field of a message.
func fields(b []byte, do func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		f := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}
