package pipeline_test

import (
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestSizesHaveUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		bytes     pipeline.Size
		canonical string
	}{
		"8GiB": {8 << 30, "8GiB"}, "8 GiB": {8 << 30, "8GiB"}, "1.5GiB": {3 << 29, "1536MiB"}, "1GB": {1e9, "1000000000B"},
		"1024KiB": {1 << 20, "1MiB"}, "0B": {0, "0B"}, "7B": {7, "7B"}, "2048GiB": {2 << 40, "2TiB"},
	} {
		var got pipeline.Size
		if err := got.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got != want.bytes || got.String() != want.canonical {
			t.Errorf("%s is %d and written %s, want %d and %s", text, got, got, want.bytes, want.canonical)
		}
	}
}

func TestDurationsHaveUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		duration  time.Duration
		canonical string
	}{
		"6h": {6 * time.Hour, "6h"}, "90m": {90 * time.Minute, "1h30m"}, "7d": {168 * time.Hour, "168h"},
		"1d12h": {36 * time.Hour, "36h"}, "1.5s": {1500 * time.Millisecond, "1.5s"}, "0d": {0, "0s"}, "10m": {10 * time.Minute, "10m"},
	} {
		var got pipeline.Duration
		if err := got.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if time.Duration(got) != want.duration || got.String() != want.canonical {
			t.Errorf("%s is %d and written %s, want %d and %s", text, got, got, want.duration, want.canonical)
		}
	}
	for _, text := range []string{"", "6", "-1h", "d", "99999d99999999h", "1d-2h", "999999d"} {
		var got pipeline.Duration
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
