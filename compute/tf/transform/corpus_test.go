package transform_test

import (
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

// The graphs and records that a real TFX pipeline wrote are testdata of the neighbours.
func graphOf(name string) string {
	return filepath.Join("..", "savedmodel", "testdata", name, "transform_graph")
}

func readSplit(t testing.TB, batchSize int, spec example.Spec, path ...string) []*example.Batch {
	t.Helper()
	pattern := filepath.Join(append([]string{"..", "..", "data", "example", "testdata"}, append(path, "*")...)...)
	r, err := example.Open(example.Options{Patterns: []string{pattern}, Spec: spec, BatchSize: batchSize, Epochs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var batches []*example.Batch
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			return batches
		}
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, copied(b))
	}
}

// copied returns a batch that outlives the reader's next.
func copied(b *example.Batch) *example.Batch {
	c := &example.Batch{Rows: b.Rows, Columns: slices.Clone(b.Columns)}
	for i, column := range b.Columns {
		to := &c.Columns[i]
		to.Offsets, to.Inner = slices.Clone(column.Offsets), slices.Clone(column.Inner)
		to.Floats, to.Ints = slices.Clone(column.Floats), slices.Clone(column.Ints)
		to.Data, to.Ends = slices.Clone(column.Data), slices.Clone(column.Ends)
	}
	return c
}

func TestRawRecordsBecomeTheTransformedOnesBitForBit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, split string
		rows        int
	}{{"penguin", "Split-train", 234}, {"penguin", "Split-eval", 100}, {"taxi", "Split-eval", 4966}} {
		t.Run(tt.name+" "+tt.split, func(t *testing.T) {
			t.Parallel()
			g, err := transform.Open(graphOf(tt.name))
			if err != nil {
				t.Fatal(err)
			}
			raw := readSplit(t, 100, g.Raw(), tt.name, "examples", tt.split)
			want := readSplit(t, 100, g.Spec(), tt.name, "transformed_examples", tt.split)
			rows := 0
			for i := range raw {
				got, err := g.Run(raw[i], nil)
				if err != nil {
					t.Fatal(err)
				}
				compareBatch(t, got, want[i])
				rows += got.Rows
			}
			if rows != tt.rows {
				t.Errorf("%d rows, want %d", rows, tt.rows)
			}
		})
	}
}

func compareBatch(t *testing.T, got, want *example.Batch) {
	t.Helper()
	if got.Rows != want.Rows || len(got.Columns) != len(want.Columns) {
		t.Fatalf("%d rows of %d columns, want %d of %d", got.Rows, len(got.Columns), want.Rows, len(want.Columns))
	}
	for i := range want.Columns {
		g, w := &got.Columns[i], &want.Columns[i]
		sameBits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
		if !slices.EqualFunc(g.Floats, w.Floats, sameBits) || !slices.Equal(g.Ints, w.Ints) || !slices.Equal(g.Data, w.Data) ||
			!slices.Equal(g.Ends, w.Ends) || !slices.Equal(g.Offsets, w.Offsets) {
			t.Errorf("column %s differs", w.Feature.Name)
		}
	}
}

// The artifact's own schema of the transformed examples says the same as the graph.
func TestSpecIsThatOfTheTransformedSchema(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"penguin", "taxi"} {
		g, err := transform.Open(graphOf(name))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := example.ReadSchema(filepath.Join(graphOf(name), "transformed_metadata", "schema.pbtxt"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := schema.Spec()
		if err != nil {
			t.Fatal(err)
		}
		equal := func(a, b example.Feature) bool {
			return a.Name == b.Name && a.Kind == b.Kind && slices.Equal(a.Shape, b.Shape) && a.VarLen() == b.VarLen()
		}
		if !slices.EqualFunc(g.Spec(), want, equal) {
			t.Errorf("%s: %v, the schema has %v", name, g.Spec(), want)
		}
	}
}
