package tfevents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The tags that the HParams plugin reads (tensorboard/plugins/hparams/metadata.py).
const (
	tagExperiment   = "_hparams_/experiment"
	tagSessionStart = "_hparams_/session_start_info"
	tagSessionEnd   = "_hparams_/session_end_info"
)

// Session has the hyperparameters of a run. Runs below the session's directory have its metrics.
type Session struct {
	Group  string         // sessions of one group are repetitions; default: those with equal values
	Values map[string]any // bool, string, or any number, by name
	Start  time.Time      // default: now
}

// Status is how a session ended.
type Status int32

// The statuses, with TensorBoard's numbers.
const (
	StatusUnknown Status = iota
	StatusSuccess
	StatusFailure
	StatusRunning
)

// Experiment is what the sessions of a log directory have in common: the columns of TensorBoard's
// table. It is written once, in the log directory itself or in any run of it.
type Experiment struct {
	Description string
	HParams     []HParam
	Metrics     []Metric
	Created     time.Time // default: now
}

// HParam is one hyperparameter. At most one of Values and Range is set, its domain.
type HParam struct {
	Name   string
	Values []any // as in Session
	Range  *Range
}

// Range is an interval, both ends inclusive.
type Range struct{ Min, Max float64 }

// Metric is a scalar by which sessions are compared: its last value. If a session's directory is
// TensorBoard's log directory itself, TensorBoard finds only the metrics of the session's own run.
type Metric struct {
	Run  string // relative to the session's: "validation"; "" is the session's own
	Tag  string // "epoch_loss"
	Name string // displayed name; default: the tag
}

// StartSession writes the run's hyperparameters. TensorBoard keeps the first that a run has.
func (w *Writer) StartSession(s Session) error {
	content, err := s.encode(w.now())
	if err != nil {
		return fmt.Errorf("log session: %w", err)
	}
	return w.add(0, hparamsValue(tagSessionStart, pluginData(fieldSessionStart, content)))
}

// EndSession writes how the run ended.
func (w *Writer) EndSession(status Status) error {
	var b []byte
	b = appendVarint(b, fieldEndStatus, uint64(status))
	b = appendDouble(b, fieldEndTime, seconds(w.now()))
	return w.add(0, hparamsValue(tagSessionEnd, pluginData(fieldSessionEnd, b)))
}

// Experiment writes the columns of TensorBoard's table.
func (w *Writer) Experiment(e Experiment) error {
	content, err := e.encode(w.now())
	if err != nil {
		return fmt.Errorf("log experiment: %w", err)
	}
	return w.add(0, hparamsValue(tagExperiment, pluginData(fieldExperiment, content)))
}

func (s Session) encode(now time.Time) ([]byte, error) {
	if s.Start.IsZero() {
		s.Start = now
	}
	if s.Group == "" {
		group, err := groupOf(s.Values)
		if err != nil {
			return nil, err
		}
		s.Group = group
	}
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		value, err := hparamValue(s.Values[name])
		if err != nil {
			return nil, fmt.Errorf("hyperparameter %q: %w", name, err)
		}
		entry := appendString(nil, fieldEntryKey, name)
		b = appendBytes(b, fieldStartHParams, appendBytes(entry, fieldEntryValue, value))
	}
	b = appendString(b, fieldStartGroup, s.Group)
	return appendDouble(b, fieldStartTime, seconds(s.Start)), nil
}

// groupOf makes one group of equal values, as TensorBoard's own writer does.
func groupOf(values map[string]any) (string, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("hyperparameters: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func (e Experiment) encode(now time.Time) ([]byte, error) {
	if e.Created.IsZero() {
		e.Created = now
	}
	b := appendString(nil, fieldExperimentDescription, e.Description)
	b = appendDouble(b, fieldExperimentCreated, seconds(e.Created))
	for _, h := range e.HParams {
		info, err := h.encode()
		if err != nil {
			return nil, fmt.Errorf("hyperparameter %q: %w", h.Name, err)
		}
		b = appendBytes(b, fieldExperimentHParam, info)
	}
	for _, m := range e.Metrics {
		name := appendString(appendString(nil, fieldMetricRun, m.Run), fieldMetricTag, m.Tag)
		b = appendBytes(b, fieldExperimentMetric, appendString(appendBytes(nil, fieldMetricName, name), fieldMetricDisplay, m.Name))
	}
	return b, nil
}

func (h HParam) encode() ([]byte, error) {
	b := appendString(nil, fieldHParamName, h.Name)
	switch {
	case h.Values != nil && h.Range != nil:
		return nil, fmt.Errorf("has both values and a range")
	case h.Range != nil:
		b = appendVarint(b, fieldHParamType, typeNumber)
		interval := appendDouble(appendDouble(nil, fieldRangeMin, h.Range.Min), fieldRangeMax, h.Range.Max)
		b = appendBytes(b, fieldHParamRange, interval)
	case len(h.Values) > 0:
		b = appendVarint(b, fieldHParamType, typeOf(h.Values[0]))
		var list []byte
		for _, v := range h.Values {
			value, err := hparamValue(v)
			if err != nil {
				return nil, err
			}
			list = appendBytes(list, fieldListValue, value)
		}
		b = appendBytes(b, fieldHParamValues, list)
	}
	return b, nil
}

// pluginData returns a HParamsPluginData of version 0, the only one, with one field.
func pluginData(field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), content)
}
