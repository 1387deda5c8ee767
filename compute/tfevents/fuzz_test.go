package tfevents

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// FuzzFile reads any bytes as an event file: it returns an error or a log, and never panics.
func FuzzFile(f *testing.F) {
	for _, name := range seedFiles(f) {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
		f.Add(content[:len(content)-1])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		var l Log
		if err := l.Read(".", NewReader("fuzz", bytes.NewReader(content))); err == nil {
			walk(t, &l)
		}
	})
}

// FuzzEvents reads any two messages as events, because the fuzzer would never get past the
// checksums. The fuzzer chooses both a tensor's shape and its content: memory may only grow with
// the bytes.
func FuzzEvents(f *testing.F) {
	var seeds [][]byte
	for _, name := range seedFiles(f) {
		r, err := tfrecord.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		for data, err := r.Next(); err == nil; data, err = r.Next() {
			seeds = append(seeds, bytes.Clone(data))
		}
		r.Close()
	}
	for i, seed := range seeds {
		f.Add(seed, seeds[(i+1)%len(seeds)])
	}
	content, err := Session{Values: map[string]any{"rate": 0.5, "on": true, "name": "a"}}.encode(clock(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seeds[0], pluginData(fieldSessionStart, content))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var file bytes.Buffer
		w := tfrecord.NewWriter(&file)
		for _, data := range [][]byte{seeds[0], a, b} { // the first is a version
			if err := w.Append(data); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var l Log
		if err := l.Read(".", NewReader("fuzz", &file)); err == nil {
			walk(t, &l)
		} else if errors.Is(err, ErrNoEventFile) {
			t.Errorf("the version was read as %v", err)
		}
		_, _ = decodeHParams(b)
	})
}

func seedFiles(f *testing.F) []string {
	// Short ones, because the fuzzer is slow with others.
	names, err := filepath.Glob("testdata/*/model_run/validation/*tfevents*")
	if err != nil || len(names) == 0 {
		f.Fatal("no event files to begin with", err)
	}
	return names
}

func walk(t *testing.T, l *Log) {
	for _, r := range l.Runs() {
		for _, s := range r.Series() {
			if s.Last().Kind == "" || s.Count < len(s.Points) {
				t.Errorf("tag %q: %+v", s.Tag, s)
			}
		}
	}
}
