package bayes

import (
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Spread is n values that lie evenly in a space, after the first so many: points of a scrambled
// Halton sequence, which is one for all streams of equal seed and trial.
func Spread(in space.Space, stream space.Stream, first, n int) []space.Values {
	c := newCube(in)
	d := len(c.parameters)
	switch {
	case n <= 0:
		return nil
	case d == 0:
		return []space.Values{in.Defaults()}
	}
	batch := mat.NewDense(first+n, d, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(d, nil), Src: source(stream)}.Sample(batch)
	values := make([]space.Values, n)
	for i := range values {
		values[i] = c.spot(batch.RawRowView(first + i)).values
	}
	return values
}
