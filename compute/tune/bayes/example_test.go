package bayes_test

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tune/bayes"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Ten trials search for the best learning rate, which is 0.003 here.
func ExampleSearch_Propose() {
	search := bayes.Search{Space: space.Space{{Name: "rate", Kind: space.Float, Min: 1e-5, Max: 0.1, Sampling: space.Log}}}
	best, least := 0.0, math.Inf(1)
	for trial := range 10 {
		search.Stream = space.NewStream(1, trial)
		values := bayes.Spread(search.Space, space.NewStream(1, 0), trial, 1)[0]
		if trial >= 4 {
			values, _, _ = search.Propose()
		}
		rate, _ := values.Lookup("rate")
		loss := math.Pow(math.Log10(rate.(float64)/0.003), 2)
		if search.Seen = append(search.Seen, bayes.Seen{Values: values, Score: loss}); loss < least {
			best, least = rate.(float64), loss
		}
	}
	fmt.Printf("%.3f\n", best)
	// Output: 0.003
}
