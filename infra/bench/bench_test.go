package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
)

// TestMain stands for five programs: stoker's module process, the probe, a server of functions, a
// first step, and a stoker that can't start.
func TestMain(m *testing.M) {
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	switch {
	case command == "module":
		os.Exit(module.Process(context.Background(), builtin.Module()))
	case command == "up":
		fmt.Fprintln(os.Stderr, "stoker: the disk is full")
		os.Exit(1)
	case command == serveObjective:
		if err := objective(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	case command == firstStep:
		if err := takeFirstStep(context.Background(), os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(module.ProgressEnv) != "":
		module.Main(probe())
	case os.Getenv(holderEnv) != "":
		if err := hold(context.Background(), os.Getenv(holderEnv)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// thisBinary is a bench whose binary is the test's own.
func thisBinary(t *testing.T) bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bench{binary: self, rounds: 2, log: t.Output()}
}

func TestAnEventIsFollowedFromItsPublishingToItsModel(t *testing.T) {
	t.Parallel()
	b := thisBinary(t)
	options := stack.Options{DataDir: t.TempDir(), Builtins: builtin.Digests(), Slots: 1}
	err := stack.With(t.Context(), options, func(ctx context.Context, stack *stack.Stack) error {
		figures, err := b.walkThrough(ctx, up{pid: os.Getpid(), connection: stack.Connection()})
		if err != nil {
			return err
		}
		named := map[string]figure{}
		for _, f := range figures {
			named[f.Name] = f
			if f.Ours <= 0 || f.Rounds != b.rounds {
				t.Errorf("%s: %v of %d rounds", f.Name, f.Ours, f.Rounds)
			}
		}
		if module, model := named["event-to-first-progress-p50"], named["event-to-model-p50"]; module.Ours >= model.Ours {
			t.Errorf("the module's first word came after %v ms, its model after %v ms", module.Ours, model.Ours)
		}
		if accuracy := named["job-accuracy-mean"].Ours; accuracy < 0.7 { // guessing the most frequent of three species gives 0.44
			t.Errorf("accuracy %v", accuracy)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheFirstLineOfAModuleProcessIsTimed(t *testing.T) {
	t.Parallel()
	took, err := thisBinary(t).firstLine(t.Context())
	if err != nil || took <= 0 {
		t.Error(took, err)
	}
}

func TestAStackThatLeavesBeforeItIsUpSaysWhy(t *testing.T) {
	t.Parallel()
	err := thisBinary(t).withUp(t.Context(), t.TempDir(), func(context.Context, up) error {
		t.Error("it was up")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Error(err)
	}
}

func TestBadUsageIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"expected table or json":                                  {"-o", "yaml"},
		"size, ready, cold, child, walk, dispatch, noop, recover": {"-part", "speed"},
		"-part speed: expected one of":                            {"-part", "size,speed"},
		"flag provided but not":                                   {"-fast"},
		"no such file":                                            {"-part", "size", "-binary", "no/such/stoker"},
		`invalid value "x" for flag`:                              {"-rounds", "x"},
		"flag needs an argument: -bi":                             {"-binary"},
	} {
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), args, &stdout, &stderr)
		if err == nil || !strings.Contains(err.Error(), says) || stdout.Len() > 0 {
			t.Errorf("%v: error %v, output %q", args, err, stdout.String())
		}
	}
}

func TestAFigureIsOneLineOfJSON(t *testing.T) {
	t.Parallel()
	s := samples{1, 2, 3}
	var out bytes.Buffer
	err := writeLines(&out, []figure{alone("a", milliseconds, 2, s, "< 3"), alone("b", cpuSeconds, 2, s, "").against("peer", 22)})
	if err != nil {
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
	var out bytes.Buffer
	err := writeTable(&out, []figure{alone("job", cpuSeconds, 0.5, samples{0.5}, "< 1").against("TFX", 22)})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Join(strings.Fields(lines[1]), " "); got != "job 0.5 CPU-s < 1 0 1 22 TFX 44" {
		t.Errorf("got %q", got)
	}
}
