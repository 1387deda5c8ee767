package bayes_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/bayes"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// BenchmarkPropose measures the cost of a suggestion during a search, including its share of
// occasional fits. CPU seconds are those of the process.
func BenchmarkPropose(b *testing.B) {
	for _, n := range []int{50, 100, 200, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			search := bayes.Search{Space: cubeOf(6)}
			for i := range n {
				search = see(search, space.Values(bayes.Spread(search.Space, space.NewStream(1, 0), i, 1)[0]))
			}
			before := busy()
			for i := 0; b.Loop(); i++ {
				search.Stream = space.NewStream(1, n+i)
				values, _, err := search.Propose()
				if err != nil {
					b.Fatal(err)
				}
				search = see(search, values)
			}
			b.ReportMetric((busy()-before).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

func see(search bayes.Search, values space.Values) bayes.Search {
	sum := 0.0
	for i, value := range values {
		x := value.Of.(float64)
		sum += (x-0.3)*(x-0.3) + 0.1*math.Sin(9*x+float64(i))
	}
	search.Seen = append(search.Seen, bayes.Seen{Values: values, Score: sum})
	return search
}

func cubeOf(d int) (in space.Space) {
	for i := range d {
		in = append(in, space.Parameter{Name: fmt.Sprint("x", i), Kind: space.Float, Max: 1, Sampling: space.Linear})
	}
	return in
}

func busy() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
