// Command bench measures Stoker and prints figures: one table, or with -o json one line a figure.
// It is not a test: no figure makes it fail. It works in temporary directories, and removes them.
// Linux only: CPU time and memory are read from /proc.
//
// A part is chosen by -part and has groups; a group is an entry of a table: its figures, and the
// rounds in which ours and its peers are measured in turn. See part, group and spec in runner.go.
//
//	binary.go    size, ready, cold, child and walk: the real binary
//	dispatch.go  dispatch: events to jobs, compared with raw JetStream (raw.go)
//	worker.go    noop and recover: jobs of one worker
//	search.go    search and study: a search, and what surrounds its trials
//	tfx.go       TFX module files, compared with plain Python
//	training.go  compute: training, compared with TensorFlow (training_data.go: models and data)
//	sgemm.go     sgemm: products of matrices, compared with OpenBLAS
//	tune.go      tune: suggestions, compared with KerasTuner and Optuna (package quality)
//	tables.go    tables: suggestions on tables of real trainings, compared with more peers
//	transfer.go  transfer: searches that know older studies, compared with those that know none
//	record.go    runs of peers that are kept, since they take hours
//	gotest.go    files, input and trace: benchmarks of the packages that they measure
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// First arguments with which this program does something other than measure. A process of the
// program is also a module (by module.ProgressEnv) and a worker (by holderEnv).
const (
	// NAME [FILE]: evaluate a function, or a table, for a search in another process
	serveObjective = "objective"
	firstStep      = "first-step" // FILE: take one training step and print its loss
	recordPeers    = "record"     // run peers again, for -part tune and tables
)

func command(ctx context.Context, args []string) error {
	if os.Getenv(module.ProgressEnv) != "" {
		module.Main(benchModule())
	}
	if url := os.Getenv(holderEnv); url != "" {
		return holdJob(ctx, url)
	}
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
	}
	return run(ctx, args, os.Stdout, os.Stderr)
}

// bench is what every group needs.
type bench struct {
	binary  string // absolute path
	rounds  int    // 0: each group's own number
	log     io.Writer
	python  string      // Python 3.10, to make the environment of peers with
	running *deployment // measured instead of a process that is started; nil except in tests
}

func parts() []part {
	return []part{
		sizePart(), readyPart(), coldPart(), childPart(), walkPart(), dispatchPart(), noopPart(), recoverPart(), tracePart(),
		filesPart(), tfxPart(), tunePart(), tablesPart(false), transferPart(), searchPart(), studyPart(), computePart(), inputPart(), sgemmPart(),
	}
}

// run is main with arguments and output passed in.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	binary := flags.String("binary", "bin/stoker", "binary to measure, as `task build` makes it")
	rounds := flags.Int("rounds", 0, "rounds of every group; 0: each group's own number")
	output := flags.String("o", "table", "table, or json: one line a figure")
	only := flags.String("part", "", "measure these parts only, separated by commas: "+strings.Join(partNames(), ", "))
	list := flags.Bool("list", false, "list the figures and measure nothing")
	python := flags.String("python", "python3.10", pythonUsage)
	heldBack := flags.Bool("held-back", false, "measure searches on the tables that are held back, and nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	write, err := writer(*output)
	if err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *heldBack {
		chosen = []part{tablesPart(true)}
	}
	if *list {
		return writeList(stdout, chosen)
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	figures, err := bench{binary: path, rounds: *rounds, log: stderr, python: *python}.measure(ctx, chosen)
	if err != nil {
		return err
	}
	return write(stdout, figures)
}

// measure measures one group after another, so that none disturbs another.
func (b bench) measure(ctx context.Context, chosen []part) (all []figure, err error) {
	fmt.Fprintln(b.log, "before:", machine())
	for _, p := range chosen {
		fmt.Fprintf(b.log, "measuring %s\n", p.name)
		for _, g := range p.groups {
			figures, err := b.figuresOf(ctx, g)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			all = append(all, figures...)
		}
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
		i := slices.Index(partNames(), name)
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

// inTempDir runs do with a temporary directory.
func inTempDir(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	return errors.Join(do(dir), os.RemoveAll(dir))
}
