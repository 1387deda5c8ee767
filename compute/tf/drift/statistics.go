package drift

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Limits of a statistics file. A larger file is refused: comparing only a part of the features
// would treat the rest as equal.
const (
	maxStatistics = 64 << 20 // bytes
	maxFeatures   = 100_000
	maxBuckets    = 10_000 // of a histogram, numbers or labels
)

// Statistics are the distributions of the features of one data set.
type Statistics struct {
	features map[string]distribution
}

// distribution is how the values of one feature are spread.
type distribution struct {
	present, missing float64            // examples
	nan              float64            // values
	numbers          []bucket           // of a histogram of equally wide buckets
	labels           map[string]float64 // the number of times that each value occurs
	labelled         float64            // the sum of these
}

type bucket struct{ low, high, count float64 }

// ReadStatistics reads the first data set of a FeatureStats.pb: a serialized
// DatasetFeatureStatisticsList of TensorFlow Metadata.
func ReadStatistics(path string) (Statistics, error) {
	f, err := os.Open(path)
	if err != nil {
		return Statistics{}, fmt.Errorf("read statistics: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStatistics+1))
	if err != nil {
		return Statistics{}, fmt.Errorf("read statistics %s: %w", path, err)
	}
	if len(data) > maxStatistics {
		return Statistics{}, fmt.Errorf("read statistics %s: longer than %d bytes", path, maxStatistics)
	}
	s, err := ParseStatistics(data)
	if err != nil {
		return Statistics{}, fmt.Errorf("parse statistics %s: %w", path, err)
	}
	return s, nil
}

// ParseStatistics reads the first data set of a serialized DatasetFeatureStatisticsList.
func ParseStatistics(data []byte) (Statistics, error) {
	s := Statistics{features: map[string]distribution{}}
	seen := false
	err := fields(data, func(f field) error {
		if f.number != 1 || seen {
			return nil
		}
		seen = true
		return fields(f.bytes, func(f field) error {
			if f.number != 3 {
				return nil
			}
			if len(s.features) >= maxFeatures {
				return fmt.Errorf("more than %d features", maxFeatures)
			}
			name, d, err := parseFeature(f.bytes)
			s.features[name] = d
			return err
		})
	})
	if err == nil && !seen {
		err = errors.New("no data set in it")
	}
	return s, err
}

// parseFeature reads a FeatureNameStatistics.
func parseFeature(data []byte) (name string, d distribution, err error) {
	err = fields(data, func(f field) error {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 8: // path
			var steps []string
			err := fields(f.bytes, func(f field) error {
				steps = append(steps, string(f.bytes))
				return nil
			})
			name = strings.Join(steps, ".")
			return err
		case 3: // of numbers
			return fields(f.bytes, func(f field) error {
				switch f.number {
				case 1:
					return d.common(f.bytes)
				case 8:
					return d.histogram(f.bytes)
				}
				return nil
			})
		case 4: // of strings
			return fields(f.bytes, func(f field) error {
				switch f.number {
				case 1:
					return d.common(f.bytes)
				case 5:
					return d.ranks(f.bytes)
				}
				return nil
			})
		case 5, 7: // of bytes and structs: only their number
			return fields(f.bytes, func(f field) error {
				if f.number == 1 {
					return d.common(f.bytes)
				}
				return nil
			})
		}
		return nil
	})
	return name, d, err
}

// common reads CommonStatistics.
func (d *distribution) common(data []byte) error {
	return fields(data, func(f field) error {
		switch f.number {
		case 1:
			d.present = float64(f.bits)
		case 2:
			d.missing = float64(f.bits)
		}
		return nil
	})
}

// histogram reads a Histogram, and keeps it if its buckets are equally wide: buckets of quantiles
// have the same counts in every data set.
func (d *distribution) histogram(data []byte) error {
	var buckets []bucket
	quantiles, nan := false, 0.0
	err := fields(data, func(f field) error {
		switch f.number {
		case 1:
			nan = float64(f.bits)
		case 3:
			if len(buckets) >= maxBuckets {
				return fmt.Errorf("more than %d buckets in a histogram", maxBuckets)
			}
			var b bucket
			if err := fields(f.bytes, func(f field) error {
				switch f.number {
				case 1:
					b.low = f.double()
				case 2:
					b.high = f.double()
				case 4:
					b.count = f.double()
				}
				return nil
			}); err != nil {
				return err
			}
			if math.IsNaN(b.low) || math.IsNaN(b.high) || !(b.count >= 0) || math.IsInf(b.count, 0) || b.low > b.high {
				return fmt.Errorf("bucket from %g to %g with %g values", b.low, b.high, b.count)
			}
			buckets = append(buckets, b)
		case 4:
			quantiles = f.bits == 1
		}
		return nil
	})
	if err == nil && !quantiles && d.numbers == nil {
		d.numbers, d.nan = buckets, nan
	}
	return err
}

// ranks reads a RankHistogram.
func (d *distribution) ranks(data []byte) error {
	d.labels, d.labelled = map[string]float64{}, 0
	return fields(data, func(f field) error {
		if f.number != 1 {
			return nil
		}
		if len(d.labels) >= maxBuckets {
			return fmt.Errorf("more than %d values in a histogram", maxBuckets)
		}
		label, count := "", 0.0
		err := fields(f.bytes, func(f field) error {
			switch f.number {
			case 4:
				label = string(f.bytes)
			case 5:
				count = f.double()
			}
			return nil
		})
		if err == nil && (!(count >= 0) || math.IsInf(count, 0)) {
			err = fmt.Errorf("value %.40q is there %g times", label, count)
		}
		d.labels[label] += count
		d.labelled += count
		return err
	})
}

// field is one field of a message: by its wire type, bytes or bits is set.
type field struct {
	number protowire.Number
	bytes  []byte
	bits   uint64
}

func (f field) double() float64 { return math.Float64frombits(f.bits) }

// fields calls do for each field of a message.
func fields(data []byte, do func(field) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(data)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}
