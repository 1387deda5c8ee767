package transform_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

// rawAndTransformed returns readers of the same rows: raw ones that are transformed, and those that
// Transform wrote.
func rawAndTransformed(t *testing.T, name string, o example.Options) (*transform.Source, *example.Reader) {
	t.Helper()
	g, err := transform.Open(graphOf(name))
	if err != nil {
		t.Fatal(err)
	}
	open := func(set string, spec example.Spec) *example.Reader {
		o.Patterns, o.Spec = []string{filepath.Join("..", "..", "data", "example", "testdata", name, set, "Split-eval", "*")}, spec
		r, err := example.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	return g.Source(open("examples", g.Raw())), open("transformed_examples", g.Spec())
}

// Over several epochs, shuffled, with batches left out at the start and later: batch by batch the
// same bits.
func TestASourceGivesWhatTransformWrote(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"penguin", "taxi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, want := rawAndTransformed(t, name, example.Options{BatchSize: 64, Epochs: 3, ShuffleBuffer: 1000, Seed: 7})
			defer made.Close()
			defer want.Close()
			skip := func(batches int64) {
				if err := errors.Join(made.Skip(t.Context(), batches), want.Skip(t.Context(), batches)); err != nil {
					t.Fatal(err)
				}
			}
			skip(1)
			batches := 0
			for ; ; batches++ {
				if batches == 1 {
					skip(2)
				}
				w, wantErr := want.Next(t.Context())
				g, err := made.Next(t.Context())
				if err != wantErr {
					t.Fatalf("error %v, want %v", err, wantErr)
				}
				if err == io.EOF {
					break
				}
				compareBatch(t, g, w)
				for row := range w.Rows {
					if g.Origins[row].Record != w.Origins[row].Record || g.Origins[row].File == "" {
						t.Fatalf("row %d is of %v, want %v", row, g.Origins[row], w.Origins[row])
					}
				}
			}
			if batches < 2 {
				t.Errorf("%d batches", batches)
			}
			if _, err := made.Next(t.Context()); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestASourceThatIsInterruptedLosesNothing(t *testing.T) {
	t.Parallel()
	made, want := rawAndTransformed(t, "taxi", example.Options{BatchSize: 500, Epochs: 1})
	defer made.Close()
	defer want.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		for range 3 {
			if b, err := made.Next(ended); err == nil { // it was there already
				w, wantErr := want.Next(t.Context())
				if wantErr != nil {
					t.Fatal(wantErr)
				}
				compareBatch(t, b, w)
			} else if !errors.Is(err, context.Canceled) && err != io.EOF {
				t.Fatal(err)
			}
		}
		w, wantErr := want.Next(t.Context())
		b, err := made.Next(t.Context())
		if err != wantErr {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		compareBatch(t, b, w)
	}
}

func TestASourceIsClosedWhileItReadsAhead(t *testing.T) {
	t.Parallel()
	made, want := rawAndTransformed(t, "taxi", example.Options{BatchSize: 10})
	want.Close()
	if _, err := made.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Error(err)
	}
}
