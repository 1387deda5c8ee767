package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
)

// TestMain makes the test binary the programs that a bench starts: stoker's module process, a
// stoker that can't start, and the bench as a module, a worker, a server of functions and a first
// step.
func TestMain(m *testing.M) {
	first := ""
	if len(os.Args) > 1 {
		first = os.Args[1]
	}
	switch {
	case first == "module":
		os.Exit(module.Process(context.Background(), builtin.Module()))
	case first == "up":
		fmt.Fprintln(os.Stderr, "stoker: the disk is full")
		os.Exit(1)
	case first == serveObjective, first == firstStep, os.Getenv(module.ProgressEnv) != "", os.Getenv(holderEnv) != "":
		if err := command(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// thisBinary returns a bench whose binary is the test's own.
func thisBinary(t *testing.T) bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bench{binary: self, rounds: 2, log: t.Output()}
}

// measured returns the figures of a part by name, and their names in order.
func measured(t *testing.T, b bench, name string) (map[string]figure, string) {
	t.Helper()
	chosen, err := choose(name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.measure(t.Context(), chosen)
	if err != nil {
		t.Fatal(err)
	}
	figures, names := map[string]figure{}, []string{}
	for _, f := range all {
		figures[f.Name] = f
		names = append(names, f.Name)
	}
	return figures, strings.Join(names, " ")
}

func TestAnEventIsFollowedFromItsPublishingToItsModel(t *testing.T) {
	t.Parallel()
	b := thisBinary(t)
	options := stack.Options{DataDir: t.TempDir(), Builtins: builtin.Digests(), Slots: 1}
	err := stack.With(t.Context(), options, func(_ context.Context, stack *stack.Stack) error {
		b.running = &deployment{pid: os.Getpid(), connection: stack.Connection()}
		figures, _ := measured(t, b, "walk")
		for name, f := range figures {
			if f.Ours <= 0 || f.Rounds != b.rounds {
				t.Errorf("%s: %v of %d rounds", name, f.Ours, f.Rounds)
			}
		}
		if module, model := figures["event-to-first-progress-p50"], figures["event-to-model-p50"]; module.Ours >= model.Ours {
			t.Errorf("the module's first report came after %v ms, its model after %v ms", module.Ours, model.Ours)
		}
		// Guessing the most frequent of three species gives 0.44.
		if accuracy := figures["job-accuracy-mean"].Ours; accuracy < 0.7 {
			t.Errorf("accuracy %v", accuracy)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePartsThatMeasureFunctionsGiveAllTheirFigures(t *testing.T) {
	t.Parallel()
	b := thisBinary(t)
	b.rounds = 1
	for name, names := range map[string]string{
		"dispatch": "dispatched-events-by-1-p50 dispatched-events-by-1-to-one-at-a-time-p50 " +
			"dispatched-events-by-4-p50 dispatched-events-by-4-to-one-at-a-time-p50 event-to-job-p50 event-to-job-p99 " +
			"dispatched-events-by-1-synced-p50 dispatched-events-by-1-synced-to-one-at-a-time-p50 " +
			"dispatched-events-by-4-synced-p50 dispatched-events-by-4-synced-to-one-at-a-time-p50 event-to-job-synced-p50 event-to-job-synced-p99",
		"noop":    "noop-jobs-p50 job-to-user-code-p50 job-to-user-code-p99",
		"recover": "worker-killed-to-job-taken-lease-6s-p50 worker-killed-to-job-taken-lease-6s-longest of-it-beyond-the-lease-p50",
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "recover" {
				t.Skip("waits for a lease to expire")
			}
			figures, got := measured(t, b, name)
			if got != names {
				t.Errorf("figures are %q", got)
			}
			for _, f := range figures {
				rawPeer := strings.HasPrefix(f.Name, "dispatched-") || f.Name == "noop-jobs-p50"
				if f.Rounds != 1 || (f.Peer != nil) != rawPeer || strings.HasPrefix(f.PeerName, rawName) != rawPeer || f.Ours <= 0 && !strings.HasPrefix(f.Name, "of-it") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestATallyCountsEachNameOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := newTally(2)
		count.note("a")
		count.note("a")
		select {
		case <-count.all:
			t.Fatal("one name is two")
		default:
		}
		count.note("b")
		<-count.all
		last := count.last
		time.Sleep(time.Millisecond)
		if count.note("c"); count.last != last {
			t.Error("a name after the last one was counted")
		}
	})
}

func TestTheFirstLineOfAModuleProcessIsTimed(t *testing.T) {
	t.Parallel()
	took, err := thisBinary(t).firstLine(t.Context())
	if err != nil || took <= 0 {
		t.Error(took, err)
	}
}

func TestAStackThatEndsBeforeItIsUpIsAnErrorWithItsOutput(t *testing.T) {
	t.Parallel()
	err := thisBinary(t).withUp(t.Context(), upOptions{}, func(context.Context, deployment) error {
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
