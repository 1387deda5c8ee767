package export_test

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn"
)

// pairs gives batches of two rows, forever or until there are no more.
type pairs struct{ left []float32 }

func (p *pairs) Next(context.Context) (nn.Batch, error) {
	n := min(2, len(p.left))
	if n == 0 {
		return nn.Batch{}, io.EOF
	}
	x := p.left[:n]
	p.left = p.left[n:]
	return nn.Batch{Rows: n, Inputs: map[string]nn.Value{"x": nn.Floats(1, x...)}}, nil
}

func TestPredictionsAreOneRowALine(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	x := b.Input("x", nn.Float32, 1)
	class := b.Bucket("class", x, []float32{0})
	b.Output("both", b.Concat("both", x, b.Apply("negative", x, nn.OpNeg)))
	b.Output("class", class)
	b.Output("name", b.Label("name", class, []string{"NaN", "\xffyes"}))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	lines := []string{
		`{"both":[0.10000000149011612,-0.10000000149011612],"class":[1],"name":[{"b64":"/3llcw=="}]}`, `{"both":["NaN","NaN"],"class":[1],"name":[{"b64":"/3llcw=="}]}`,
		`{"both":["-Infinity","Infinity"],"class":[0],"name":["NaN"]}`, `{"both":[-2,2],"class":[0],"name":["NaN"]}`, `{"both":[3,-3],"class":[1],"name":[{"b64":"/3llcw=="}]}`,
	}
	for rows, want := range map[int][]string{3: lines[:3], 99: lines, 0: nil} {
		path := filepath.Join(t.TempDir(), "predictions.jsonl")
		if err := export.Predict(t.Context(), path, g, &pairs{[]float32{0.1, nan, -inf, -2, 3}}, rows); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, line := range want {
			text += line + "\n"
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%d rows: want - got +\n%s", rows, diff)
		}
	}
}
