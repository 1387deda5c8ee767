package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// figuresOf measures figures of given samples by series, one round each.
func figuresOf(t *testing.T, rounds int, series map[string][]float64, figures ...spec) []figure {
	t.Helper()
	b := bench{rounds: rounds, log: t.Output()}
	all, err := b.figuresOf(t.Context(), group{figures: figures, setup: func(ctx context.Context, _ bench, r *recorder) error {
		return r.run(ctx, func(round int) error {
			for name, values := range series {
				r.add(name, values[round])
			}
			return nil
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRoundsAlternateAndThoseThatWarmUpAreDropped(t *testing.T) {
	t.Parallel()
	var order []string
	r := &recorder{rounds: 2, warmUp: 1, samples: map[string]samples{}}
	take := func(name string) turn {
		return func(round int) error {
			order = append(order, name)
			r.add(name, float64(round))
			return nil
		}
	}
	if err := r.run(t.Context(), take("ours"), take("peer")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "ours peer ours peer ours peer" {
		t.Errorf("turns were %s", got)
	}
	if want := (map[string]samples{"ours": {1, 2}, "peer": {1, 2}}); !reflect.DeepEqual(r.samples, want) {
		t.Errorf("samples %v, expected %v", r.samples, want)
	}
	failed := errors.New("no memory")
	if err := r.run(t.Context(), func(int) error { return failed }); !errors.Is(err, failed) || !strings.Contains(err.Error(), "round 0") {
		t.Errorf("error %v", err)
	}
}

func TestAFigureIsComparedWithTheBestPeerRoundByRound(t *testing.T) {
	t.Parallel()
	peers := []peer{{name: "slow", series: "slow"}, {name: "fast", series: "fast"}}
	rate := spec{name: "rate", unit: perSecond, of: "ours", goal: "> 2", more: true, peers: peers}
	got := figuresOf(t, 3, map[string][]float64{"ours": {120, 60, 120}, "slow": {15, 15, 15}, "fast": {30, 20, 30}}, withRatio(rate)...)
	if f := got[0]; f.Ours != 120 || *f.Peer != 30 || f.PeerName != "fast" || *f.Ratio != 4 || f.Spread != 60 || f.goal != "" {
		t.Errorf("rate: %+v", f)
	}
	if f := got[1]; f.Name != "rate-ratio" || f.Ours != 4 || f.Spread != 1 || f.Peer != nil || f.PeerName != noPeer || f.goal != "> 2" {
		t.Errorf("its ratio: %+v", f)
	}
	cost := figuresOf(t, 3, map[string][]float64{"ours": {2, 1, 2}, "slow": {9, 9, 9}, "fast": {4, 4, 6}}, spec{name: "cost", of: "ours", peers: peers})
	if f := cost[0]; f.Ours != 2 || *f.Peer != 4 || f.PeerName != "fast" || *f.Ratio != 3 {
		t.Errorf("cost: %+v", f)
	}
	recorded := figuresOf(t, 1, map[string][]float64{"ours": {2}}, spec{name: "cost", of: "ours", peers: []peer{{name: "TFX", recorded: 22}}})
	if f := recorded[0]; *f.Peer != 22 || f.PeerName != "TFX" || *f.Ratio != 11 {
		t.Errorf("cost with a recorded peer: %+v", f)
	}
	missing := group{figures: []spec{rate}, setup: func(context.Context, bench, *recorder) error { return nil }}
	if _, err := (bench{}).figuresOf(t.Context(), missing); err == nil || !strings.Contains(err.Error(), `figure rate: series "ours" has no samples`) {
		t.Errorf("error of a figure without samples: %v", err)
	}
}

func TestMetricsOfBenchmarksAreSamples(t *testing.T) {
	t.Parallel()
	r := &recorder{samples: map[string]samples{}}
	const output = `goos: linux
cpu: Some Processor
BenchmarkParse/plain-gzip 	       1	 250 ns/op	         1.5 cpu-s/Mrow	  4.25 peer-cpu-s/Mrow
BenchmarkParse/plain-gzip 	       1	 250 ns/op	         2.5 cpu-s/Mrow	  4.5 peer-cpu-s/Mrow
BenchmarkTracing 	     200	 100 ns/op	 12 added-us/op
PASS
ok  	example	1.2s
`
	if err := addMetrics(r, strings.NewReader(output)); err != nil {
		t.Fatal(err)
	}
	want := map[string]samples{"plain-gzip ns/op": {250, 250}, "plain-gzip cpu-s/Mrow": {1.5, 2.5}, "plain-gzip peer-cpu-s/Mrow": {4.25, 4.5}, "ns/op": {100}, "added-us/op": {12}}
	if !reflect.DeepEqual(r.samples, want) {
		t.Errorf("samples %v, expected %v", r.samples, want)
	}
	if err := addMetrics(r, strings.NewReader("BenchmarkX 1 2 ns/op three\n")); err == nil {
		t.Error("a value without a unit was read")
	}
}

func TestAFigureIsOneLineOfJSON(t *testing.T) {
	t.Parallel()
	figures := figuresOf(t, 3, map[string][]float64{"s": {1, 2, 3}},
		spec{name: "a", unit: milliseconds, of: "s", goal: "< 3"}, spec{name: "b", unit: cpuSeconds, of: "s", peers: []peer{{name: "peer", recorded: 22}}})
	var out bytes.Buffer
	if err := writeLines(&out, figures); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"a","unit":"ms","ours":2,"peer":null,"peer_name":"none","ratio":null,"spread":2,"rounds":3}
{"name":"b","unit":"CPU-s","ours":2,"peer":22,"peer_name":"peer","ratio":11,"spread":2,"rounds":3}
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestFiguresAreRoundedToFourDigits(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]float64{
		0: 0, 1.7609530000000007: 1.761, 12.360738: 12.36, 0.05834999: 0.05835, 377.04: 377, 123456: 123500, 62.123: 62.12, -0.25: -0.25,
	} {
		if got := rounded(x); got != want {
			t.Errorf("%v became %v, expected %v", x, got, want)
		}
	}
}

func TestTheTableHasGoalsAndPeers(t *testing.T) {
	t.Parallel()
	figures := figuresOf(t, 1, map[string][]float64{"s": {0.5}}, spec{name: "job", unit: cpuSeconds, of: "s", goal: "< 1", peers: []peer{{name: "TFX", recorded: 22}}})
	var out bytes.Buffer
	if err := writeTable(&out, figures); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Join(strings.Fields(lines[1]), " "); got != "job 0.5 CPU-s < 1 0 1 22 TFX 44" {
		t.Errorf("got %q", got)
	}
}

func TestAQuantileIsASampleByNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make(samples, 100) // 100, 99, ..., 1
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, tc := range []struct {
		s       samples
		q, want float64
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{samples{3, 1, 2}, 0.5, 2}, {samples{4, 1, 2, 3}, 0.5, 2}, {samples{7}, 0.99, 7}, {nil, 0.5, 0},
	} {
		if got := tc.s.quantile(tc.q); got != tc.want {
			t.Errorf("quantile %v of %d samples: %v, expected %v", tc.q, len(tc.s), got, tc.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the samples were sorted in place")
	}
	if got := hundred.spread(); got != 80 {
		t.Errorf("spread %v, expected 80", got)
	}
}

func TestTimesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	r := &recorder{samples: map[string]samples{}}
	r.addTime("s", 1500*time.Microsecond)
	r.addTime("s", 2500*time.Microsecond)
	if got := r.samples["s"].mean(); got != 2 { // exact: both are sums of powers of two
		t.Errorf("mean %v ms, expected 2", got)
	}
}

// The names of figures are documented, and programs read them: each is listed in figures.md, below
// the part that measures it, by itself or by a pattern, and what is listed there is measured.
func TestTheDocumentedFiguresAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "figures.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{} // patterns by part
	row := regexp.MustCompile("(?m)^\\| `task bench:([a-z]+)` \\| (`.*`) \\|$")
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		documented[match[1]] = strings.Split(strings.Trim(match[2], "`"), "`, `")
	}
	for _, p := range parts() {
		found := map[string]bool{}
		for _, g := range p.groups {
			for _, s := range g.figures {
				names := 0
				for _, pattern := range documented[p.name] {
					if ok, err := path.Match(pattern, s.name); err != nil {
						t.Fatal(err)
					} else if ok {
						names++
						found[pattern] = true
					}
				}
				if names != 1 {
					t.Errorf("%s: figure %s is matched by %d names in figures.md, expected 1", p.name, s.name, names)
				}
			}
		}
		for _, pattern := range documented[p.name] {
			if !found[pattern] {
				t.Errorf("%s: figures.md names %s, which is not measured", p.name, pattern)
			}
		}
		delete(documented, p.name)
	}
	for name := range documented {
		t.Errorf("figures.md has the part %s, which does not exist", name)
	}
}
