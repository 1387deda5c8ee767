package tfevents

import (
	"fmt"
	"math"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of tensorboard/plugins/hparams/plugin_data.proto and api.proto, and of
// google/protobuf/struct.proto.
const (
	fieldExperiment   = 2 // HParamsPluginData
	fieldSessionStart = 3
	fieldSessionEnd   = 4

	fieldStartHParams = 1 // SessionStartInfo: a map
	fieldStartGroup   = 4
	fieldStartTime    = 5
	fieldEntryKey     = 1
	fieldEntryValue   = 2

	fieldEndStatus = 1 // SessionEndInfo
	fieldEndTime   = 2

	fieldExperimentDescription = 1 // Experiment
	fieldExperimentCreated     = 3
	fieldExperimentHParam      = 4
	fieldExperimentMetric      = 5

	fieldHParamName   = 1 // HParamInfo
	fieldHParamType   = 4
	fieldHParamValues = 5
	fieldHParamRange  = 6
	fieldRangeMin     = 1 // Interval
	fieldRangeMax     = 2

	fieldMetricName    = 1 // MetricInfo
	fieldMetricDisplay = 3
	fieldMetricRun     = 1 // MetricName
	fieldMetricTag     = 2

	fieldListValue = 1 // ListValue
	fieldNumber    = 2 // Value
	fieldString    = 3
	fieldBool      = 4
)

// Types of hyperparameters (DataType of api.proto).
const (
	typeString = 1
	typeBool   = 2
	typeNumber = 3
)

func typeOf(v any) uint64 {
	switch v.(type) {
	case string:
		return typeString
	case bool:
		return typeBool
	}
	return typeNumber
}

// hparamValue returns v as a google.protobuf.Value. These have no integers, so numbers become
// float64.
func hparamValue(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return protowire.AppendString(protowire.AppendTag(nil, fieldString, protowire.BytesType), v), nil
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(nil, fieldBool, protowire.VarintType), protowire.EncodeBool(v)), nil
	}
	x := reflect.ValueOf(v)
	switch {
	case x.CanInt():
		return numberValue(float64(x.Int())), nil
	case x.CanUint():
		return numberValue(float64(x.Uint())), nil
	case x.CanFloat():
		return numberValue(x.Float()), nil
	}
	return nil, fmt.Errorf("expected a number, a string or a bool, got %T", v)
}

// numberValue also writes a zero: the field that is present determines a Value's type.
func numberValue(x float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, fieldNumber, protowire.Fixed64Type), math.Float64bits(x))
}

// The append functions leave out zero values, as proto3 does.

func appendString(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendDouble(b []byte, field protowire.Number, x float64) []byte {
	if x == 0 {
		return b
	}
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(x))
}

// appendBytes appends a message, even an empty one.
func appendBytes(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}
