package events_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func TestAMessageOfAnEqualIDIsTheSameEventOrAConflict(t *testing.T) {
	t.Parallel()
	upstream := events.Event{
		ID: "1", Source: "/upstream", Pipeline: "penguin", Run: "monday",
		Data: &events.HParamsReady{Hyperparameters: "s3://bucket/h", Values: map[string]any{"units": 8, "rate": 1e-3}},
	}
	tuned := upstream
	tuned.Source, tuned.Data = events.Source(events.FunctionTune), &events.HParamsReady{Hyperparameters: "s3://bucket/h", Cached: true}
	change := func(f events.Event, do func(*events.Event)) events.Event { do(&f); return f }
	for name, c := range map[string]struct {
		first, now events.Event
		want       string
	}{
		"published again":            {upstream, upstream, ""},
		"later":                      {upstream, change(upstream, func(f *events.Event) { f.Time = time.Unix(1, 0) }), ""},
		"other data":                 {upstream, change(upstream, func(f *events.Event) { f.Data = &events.HParamsReady{Hyperparameters: "s3://bucket/i"} }), "has other data"},
		"another source":             {change(upstream, func(f *events.Event) { f.Source = "/other" }), upstream, "from source /other"},
		"a result with other data":   {tuned, change(tuned, func(f *events.Event) { f.Data = &events.HParamsReady{Hyperparameters: "s3://bucket/h"} }), ""},
		"a result of another source": {upstream, tuned, "from source /upstream"},
	} {
		header, body, err := events.Encode(c.first)
		if err != nil {
			t.Fatal(err)
		}
		first := events.Message{Subject: events.EventSubject(c.first), Sequence: 7, Header: header, Body: body}
		got := events.CheckRepeated(c.now, first)
		if c.want == "" && got != nil || c.want != "" && (!errors.Is(got, events.ErrConflict) || !strings.Contains(got.Error(), "message 7 with this id") || !strings.Contains(got.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
		first.Subject = "events.hparams-ready.taxi.monday.1"
		if got := events.CheckRepeated(upstream, first); !errors.Is(got, events.ErrConflict) {
			t.Errorf("%s: got %v for an event of another pipeline, want a conflict", name, got)
		}
	}
}
