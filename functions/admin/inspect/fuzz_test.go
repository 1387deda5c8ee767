package inspect

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// FuzzStatistics reads any bytes as statistics: it returns an error or numbers that JSON supports,
// and never panics.
func FuzzStatistics(f *testing.F) {
	data, err := os.ReadFile("testdata/statistics/Split-train/" + statisticsFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStatistics(data)
		if err == nil {
			show(t, &Report{Kind: KindStatistics, Statistics: []Statistics{s}})
		}
	})
}

// FuzzRow reads any bytes as a record.
func FuzzRow(f *testing.F) {
	var b example.Builder
	f.Add(b.Float("x", 0.5).String("s", "a").Int64("n", 1, 2).Build())
	f.Fuzz(func(t *testing.T, data []byte) {
		row, payload := decodeRow(data)
		if (row == nil) != (payload == payloadUnknown) {
			t.Fatalf("row %v of payload %s", row, payload)
		}
		var set featureSet
		set.add(row, "f, record 0", true)
		split := Split{Features: set.list(), Rows: []Row{row}}
		show(t, &Report{Kind: KindExamples, Examples: &Examples{Splits: []Split{split}}})
	})
}

// show prints a report in both formats: neither fails, and no control character is printed.
func show(t *testing.T, r *Report) {
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r.Print(&out)
	for _, b := range out.Bytes() {
		if b < ' ' && b != '\n' {
			t.Fatalf("control character in %q", out.Bytes())
		}
	}
}
