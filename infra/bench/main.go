// Command bench measures the real binary and prints figures: one table, or with -o json one line a
// figure. It is no test: nothing here passes or fails by how fast a machine is.
//
// Each part lives in a file of its own name: ready.go, cold.go, walk.go, size.go, child.go measure
// the binary; dispatch.go, noop.go, recover.go the functions by themselves, on a NATS server in
// this process; trace.go what tracing adds to a job; files.go what reads and writes TensorFlow's
// files, compared with TensorFlow; guest.go TFX modules; tune.go how good suggestions of a search
// are, and what they cost; search.go a whole search; study.go what is around its trials; compute.go
// trainings compared with TensorFlow's, compute_input.go reading, compute_sgemm.go products of
// matrices. They work in temporary folders and leave nothing behind. Linux only: CPU time and
// memory are read from /proc. Read figure first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stoker-ml/stoker/functions/module"
)

func main() {
	if os.Getenv(module.ProgressEnv) != "" {
		module.Main(probe())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if url := os.Getenv(holderEnv); url != "" {
		if err := hold(ctx, url); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command does what the first argument says: measure as a rule.
func command(ctx context.Context, args []string) error {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch first {
	case serveObjective:
		return objective(ctx, args[1:], os.Stdin, os.Stdout)
	case firstStep:
		return takeFirstStep(ctx, args[1:], os.Stdout)
	case recordPeers:
		return recordRuns(ctx, args[1:], os.Stderr)
	default:
		return run(ctx, args, os.Stdout, os.Stderr)
	}
}

// bench is what every part needs.
type bench struct {
	binary string // absolute
	rounds int    // 0: each part's own number
	log    io.Writer
	env    []string // name=value pairs for the binary, in addition to this process's own
}

// part measures some figures that belong together.
type part struct {
	name    string
	measure func(bench, context.Context) ([]figure, error)
}

func parts() []part {
	return []part{
		{"size", bench.size}, {"ready", bench.ready}, {"cold", bench.cold}, {"child", bench.child}, {"walk", bench.walk},
		{"dispatch", bench.dispatch}, {"noop", bench.noop}, {"recover", bench.recover}, {"trace", bench.trace},
		{"files", bench.files}, {"guest", bench.guest}, {"tune", bench.tune}, {"search", bench.searching}, {"study", bench.study},
		{"compute", bench.compute}, {"input", bench.input}, {"sgemm", bench.sgemm},
	}
}

// run is main with its world handed in.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	binary := flags.String("binary", "bin/stoker", "the binary to measure, as `task build` makes it")
	rounds := flags.Int("rounds", 0, "rounds of every part; 0: each part's own number")
	output := flags.String("o", "table", "table, or json: one line a figure")
	only := flags.String("part", "", "measure these parts only, with commas between: "+strings.Join(partNames(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	write, err := writer(*output)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	b := bench{binary: path, rounds: *rounds, log: stderr}
	figures, err := b.measure(ctx, *only)
	if err != nil {
		return err
	}
	return write(stdout, figures)
}

// measure runs the parts one after another, so that none disturbs another.
func (b bench) measure(ctx context.Context, only string) (all []figure, err error) {
	fmt.Fprintln(b.log, "before:", machine())
	chosen, err := choose(only)
	if err != nil {
		return nil, err
	}
	for _, p := range chosen {
		fmt.Fprintf(b.log, "measuring %s\n", p.name)
		figures, err := p.measure(b, ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, figures...)
	}
	fmt.Fprintln(b.log, "after:", machine())
	return all, nil
}

// choose finds the parts of the names; all for "".
func choose(only string) (chosen []part, err error) {
	if only == "" {
		return parts(), nil
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, errors.New("-part " + name + ": expected one of " + strings.Join(partNames(), ", "))
		}
		chosen = append(chosen, parts()[i])
	}
	return chosen, nil
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// times is the number of rounds to measure: the caller's, else the part's own.
func (b bench) times(own int) int {
	if b.rounds > 0 {
		return b.rounds
	}
	return own
}
