package suggest_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// The cost of a suggestion after a thousand trials if nothing is learned from them: it limits how
// many trials a second a study can begin.
func BenchmarkRandomAmongAThousand(b *testing.B) {
	c := config(tune.Algorithm{Name: tune.Random}, unit("x"), unit("y"), unit("z"),
		space.Parameter{Name: "n", Kind: space.Int, Min: 1, Max: 100}, space.Parameter{Name: "f", Kind: space.Boolean})
	c.MaxTrials = 2000
	l := begin(b, c)
	for range 1000 {
		t, _ := l.start("worker")
		l.end(t, 1)
	}
	for b.Loop() {
		if _, verdict, err := suggest.Next(&l.study); verdict != tune.Try || err != nil {
			b.Fatal(verdict, err)
		}
	}
}
