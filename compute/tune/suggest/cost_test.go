package suggest_test

import (
	"math/rand/v2"
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

// The cost of a suggestion of tpe late in a large study.
func BenchmarkTPEAmongTwentyThousand(b *testing.B) {
	const trials = 20_000
	c := config(tune.Algorithm{Name: tune.TPE}, unit("x"), unit("y"), unit("z"),
		space.Parameter{Name: "n", Kind: space.Int, Min: 1, Max: 100}, space.Parameter{Name: "f", Kind: space.Boolean})
	c.MaxTrials = 2 * trials
	l := begin(b, c)
	random := rand.New(rand.NewPCG(1, 2))
	for range trials {
		id := l.study.NextID()
		values := c.Space.Fill(func(p space.Parameter) any { return p.At(random.Float64()) })
		l.apply(tune.Entry{Started: []tune.Started{{Trial: id, Owner: tune.Owner{Job: "worker", Attempt: "1"}, Suggestion: &tune.Suggestion{Values: values}}}})
		l.end(l.study.Trial(id), float(values, "x"))
	}
	for b.Loop() {
		if _, verdict, err := suggest.Next(&l.study); verdict != tune.Try || err != nil {
			b.Fatal(verdict, err)
		}
	}
}
