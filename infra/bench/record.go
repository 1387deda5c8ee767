package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

const pythonUsage = "Python 3.10, to make the environment of peers with"

// recordRuns runs peers again, whose runs tunePart and tablesPart compare ours with. The first time
// it installs them, and it takes CPU hours; a recording that was interrupted is continued.
func recordRuns(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet(recordPeers, flag.ContinueOnError)
	flags.SetOutput(log)
	tables := flags.Bool("tables", false, "record on the problems of -part tables, instead of those of -part tune")
	out := flags.String("out", "infra/bench/quality/testdata", "directory of the recordings; a run that is there is not run again")
	python := flags.String("python", "python3.10", pythonUsage)
	seeds := flags.Int("seeds", tuneSeeds, "searches of each function by each sampler")
	trials := flags.Int("trials", tuneTrials, "of a search")
	functions := flags.String("function", "", "record these functions only, separated by commas")
	samplers := flags.String("sampler", "", "record these samplers only, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	peers, err := newPeers(ctx, *python, log)
	if err != nil {
		return err
	}
	r := quality.Recorder{Peers: peers, Seeds: *seeds, Trials: *trials, Log: log}
	known, kept := functionsToRecord, quality.OfFunctions
	if *tables {
		known, kept = problemsToRecord, quality.OfProblems
	}
	r.Out = filepath.Join(*out, kept)
	names, err := known(ctx, &r)
	if err != nil {
		return err
	}
	if names, err = only(*functions, names); err != nil {
		return err
	}
	if r.Samplers, err = only(*samplers, r.Samplers); err != nil {
		return err
	}
	if r.Keras, err = tftest.Interpreter(); err != nil {
		return err
	}
	return r.Record(ctx, names)
}

// newPeers returns the environment of peers, in the user's cache directory.
func newPeers(ctx context.Context, python string, log io.Writer) (quality.Peers, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return quality.Peers{}, err
	}
	return quality.NewPeers(ctx, filepath.Join(cache, "stoker", "bench"), python, log)
}

// functionsToRecord completes a recorder for tunePart and returns the names of functions.
func functionsToRecord(ctx context.Context, r *quality.Recorder) (names []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r.Samplers = []string{quality.OptunaTPE, quality.OptunaGP, quality.KerasBayesian, quality.OptunaRandom, quality.KerasRandom}
	r.Serve = func(function string) string { return fmt.Sprintf("%q %s %s", self, serveObjective, function) }
	for _, f := range append(quality.Known(), taxiFunction(ctx)) {
		names = append(names, f.Name)
	}
	return names, nil
}

// problemsToRecord does so for tablesPart. Problems that are held back are among them.
func problemsToRecord(ctx context.Context, r *quality.Recorder) (names []string, err error) {
	r.Samplers = recordedOnTables
	problems, err := exported(ctx, r.Peers, quality.List(), r.Log)
	if err != nil {
		return nil, err
	}
	if err := serveProblems(r, problems); err != nil {
		return nil, err
	}
	for _, p := range problems {
		names = append(names, p.Name)
	}
	return names, nil
}

// serveProblems has a recorder serve problems.
func serveProblems(r *quality.Recorder, problems []quality.Problem) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := map[string]string{}
	for _, p := range problems {
		commands[p.Name] = p.Command(r.Peers, self, serveObjective)
	}
	r.Serve = func(name string) string { return commands[name] }
	return nil
}

// exported exports problems and reads them.
func exported(ctx context.Context, peers quality.Peers, list []quality.Listed, log io.Writer) ([]quality.Problem, error) {
	if err := peers.Export(ctx, list, log); err != nil {
		return nil, err
	}
	return quality.Problems(list, peers.Tables)
}

// only returns the names of a list that is separated by commas; all for "".
func only(list string, all []string) ([]string, error) {
	if list == "" {
		return all, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%s: expected some of %s", name, strings.Join(all, ", "))
		}
	}
	return names, nil
}
