package tfevents

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// HParams is one value of the HParams plugin: one field is set.
type HParams struct {
	Experiment *Experiment
	Session    *Session
	End        *SessionEnd
}

// SessionEnd says how and when a session ended.
type SessionEnd struct {
	Status Status
	Time   time.Time
}

// decodeHParams decodes a HParamsPluginData. It skips fields that are not kept here.
func decodeHParams(b []byte) (h HParams, err error) {
	err = eachField(b, func(f field) (err error) {
		switch f.number {
		case fieldExperiment:
			h.Experiment, err = decodeExperiment(f.bytes)
		case fieldSessionStart:
			h.Session, err = decodeSession(f.bytes)
		case fieldSessionEnd:
			h.End, err = decodeEnd(f.bytes)
		}
		return err
	})
	return h, err
}

func decodeSession(b []byte) (*Session, error) {
	s := &Session{Values: map[string]any{}}
	return s, eachField(b, func(f field) error {
		switch f.number {
		case fieldStartHParams:
			name, value, err := decodeEntry(f.bytes)
			if err == nil && value != nil {
				s.Values[name] = value
			}
			return err
		case fieldStartGroup:
			s.Group = string(f.bytes)
		case fieldStartTime:
			s.Start = clock(f.double())
		}
		return nil
	})
}

func decodeEntry(b []byte) (name string, value any, err error) {
	err = eachField(b, func(f field) (err error) {
		switch f.number {
		case fieldEntryKey:
			name = string(f.bytes)
		case fieldEntryValue:
			value, err = decodeValue(f.bytes)
		}
		return err
	})
	return name, value, err
}

// decodeValue returns nil for a google.protobuf.Value that is not a number, string or bool.
func decodeValue(b []byte) (value any, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case fieldNumber:
			value = f.double()
		case fieldString:
			value = string(f.bytes)
		case fieldBool:
			value = f.integer != 0
		}
		return nil
	})
	return value, err
}

func decodeEnd(b []byte) (*SessionEnd, error) {
	e := &SessionEnd{}
	return e, eachField(b, func(f field) error {
		switch f.number {
		case fieldEndStatus:
			e.Status = Status(f.integer)
		case fieldEndTime:
			e.Time = clock(f.double())
		}
		return nil
	})
}

func decodeExperiment(b []byte) (*Experiment, error) {
	e := &Experiment{}
	return e, eachField(b, func(f field) error {
		switch f.number {
		case fieldExperimentDescription:
			e.Description = string(f.bytes)
		case fieldExperimentCreated:
			e.Created = clock(f.double())
		case fieldExperimentHParam:
			h, err := decodeHParam(f.bytes)
			e.HParams = append(e.HParams, h)
			return err
		case fieldExperimentMetric:
			m, err := decodeMetric(f.bytes)
			e.Metrics = append(e.Metrics, m)
			return err
		}
		return nil
	})
}

func decodeHParam(b []byte) (h HParam, err error) {
	err = eachField(b, func(f field) (err error) {
		switch f.number {
		case fieldHParamName:
			h.Name = string(f.bytes)
		case fieldHParamValues:
			h.Values, err = decodeList(f.bytes)
		case fieldHParamRange:
			h.Range, err = decodeRange(f.bytes)
		}
		return err
	})
	return h, err
}

func decodeList(b []byte) (values []any, err error) {
	err = eachField(b, func(f field) error {
		value, err := decodeValue(f.bytes)
		values = append(values, value)
		return err
	})
	return values, err
}

func decodeRange(b []byte) (*Range, error) {
	r := &Range{}
	return r, eachField(b, func(f field) error {
		switch f.number {
		case fieldRangeMin:
			r.Min = f.double()
		case fieldRangeMax:
			r.Max = f.double()
		}
		return nil
	})
}

func decodeMetric(b []byte) (m Metric, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case fieldMetricDisplay:
			m.Name = string(f.bytes)
		case fieldMetricName:
			return eachField(f.bytes, func(f field) error {
				switch f.number {
				case fieldMetricRun:
					m.Run = string(f.bytes)
				case fieldMetricTag:
					m.Tag = string(f.bytes)
				}
				return nil
			})
		}
		return nil
	})
	return m, err
}

// field is one field of a message: depending on its wire type, bytes or integer is set.
type field struct {
	number  protowire.Number
	bytes   []byte
	integer uint64 // a varint, or the bits of a fixed number
}

func (f field) double() float64 { return math.Float64frombits(f.integer) }

// eachField calls do for each field of a message, in turn.
func eachField(b []byte, do func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("hparams: %w", protowire.ParseError(n))
		}
		b = b[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.integer, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.integer, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("hparams: field %d: %w", number, protowire.ParseError(n))
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}
