package tfevents

import (
	"fmt"
	"math"
	"strings"
	"time"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"
	"google.golang.org/protobuf/proto"
)

// Event is one entry of an event file.
type Event struct {
	Time    time.Time
	Step    int64
	Version string  // version of the file, in its first event
	Begins  bool    // a session begins here: see Load
	Values  []Value // logged values; graphs and the like are left out
}

// Value is one logged value.
type Value struct {
	Tag string
	// TensorBoard's plugin: "scalars", "histograms", "images" ...; "" if the file names none.
	Plugin string
	Kind   Kind

	Scalar  float64
	Buckets []Bucket
	Text    []string
	HParams *HParams
}

// Kind says which field of a Value has its content.
type Kind string

// The kinds. A KindOther has only the tag and the plugin.
const (
	KindScalar    Kind = "scalar"
	KindHistogram Kind = "histogram"
	KindText      Kind = "text"
	KindHParams   Kind = "hparams"
	KindOther     Kind = "other"
)

// decodeEvent reads one record of an event file.
func decodeEvent(data []byte) (Event, error) {
	var p eventpb.Event
	if err := proto.Unmarshal(data, &p); err != nil {
		return Event{}, fmt.Errorf("no event: %w", err)
	}
	e := Event{
		Time: clock(p.GetWallTime()), Step: p.GetStep(), Version: p.GetFileVersion(),
		Begins: p.GetSessionLog().GetStatus() == eventpb.SessionLog_START,
	}
	for _, v := range p.GetSummary().GetValue() {
		value, err := decodeSummary(v)
		if err != nil {
			return Event{}, fmt.Errorf("tag %q: %w", v.GetTag(), err)
		}
		e.Values = append(e.Values, value)
	}
	return e, nil
}

// decodeSummary decodes a value in the form of TensorFlow 2, a tensor with metadata, or in that of
// TensorFlow 1.
func decodeSummary(p *summarypb.Summary_Value) (v Value, err error) {
	v = Value{Tag: p.GetTag(), Plugin: p.GetMetadata().GetPluginData().GetPluginName(), Kind: KindOther}
	switch of := p.GetValue().(type) {
	case *summarypb.Summary_Value_SimpleValue:
		v.Kind, v.Scalar = KindScalar, float64(of.SimpleValue)
	case *summarypb.Summary_Value_Histo:
		v.Kind, v.Buckets = KindHistogram, oldBuckets(of.Histo)
	case *summarypb.Summary_Value_Tensor:
		err = v.decodeTensor(of.Tensor)
	case *summarypb.Summary_Value_Image:
		v.Plugin = "images"
	case *summarypb.Summary_Value_Audio:
		v.Plugin = "audio"
	}
	if v.Plugin == pluginHParams {
		v.Kind = KindHParams
		var h HParams
		h, err = decodeHParams(p.GetMetadata().GetPluginData().GetContent())
		v.HParams = &h
	}
	return v, err
}

// oldBuckets returns the buckets of a TensorFlow 1 histogram, which has the right edges; the first
// left edge is open.
func oldBuckets(h *summarypb.HistogramProto) []Bucket {
	n := min(len(h.GetBucketLimit()), len(h.GetBucket()))
	buckets := make([]Bucket, n)
	left := h.GetMin()
	for i := range buckets {
		buckets[i] = Bucket{Left: left, Right: h.GetBucketLimit()[i], Count: h.GetBucket()[i]}
		left = buckets[i].Right
	}
	return buckets
}

// clock returns the time for so many seconds since 1970, or the zero time if they are out of range.
func clock(seconds float64) time.Time {
	if !(math.Abs(seconds) < float64(maxSeconds)) || seconds == 0 {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(math.Round(part*1e9))).UTC()
}

// isVersion reports whether a file's first event marks it as an event file.
func isVersion(version string) bool { return strings.HasPrefix(version, "brain.Event:") }
