package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// recordPeers is the first argument of a bench that runs the peers of -part tune again: bench
// record.
const recordPeers = "record"

// recordRuns runs KerasTuner and Optuna on all functions. The first time it installs them, and it
// takes CPU hours; what was cut off goes on.
func recordRuns(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet(recordPeers, flag.ContinueOnError)
	flags.SetOutput(log)
	out := flags.String("out", "infra/bench/quality/testdata", "folder of the recordings; a run that is there is not run again")
	python := flags.String("python", "python3.10", "Python 3.10, to make the environment of Optuna with")
	seeds := flags.Int("seeds", tuneSeeds, "searches of each function by each sampler")
	only := flags.String("function", "", "record one function only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	functions := append(quality.Known(), taxiFunction(ctx))
	if *only != "" {
		f, err := quality.Find(functions, *only)
		if err != nil {
			return err
		}
		functions = []quality.Function{f}
	}
	r, err := newRecorder(ctx, *python, log)
	if err != nil {
		return err
	}
	r.Out, r.Seeds = *out, *seeds
	return r.Record(ctx, functions)
}

func newRecorder(ctx context.Context, python string, log io.Writer) (r quality.Recorder, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return r, err
	}
	r = quality.Recorder{Trials: tuneTrials, Log: log, Serve: func(function string) string {
		return fmt.Sprintf("%q %s %s", self, serveObjective, function)
	}}
	if r.Optuna, err = quality.OptunaPython(ctx, filepath.Join(cache, "stoker", "bench"), python, log); err != nil {
		return r, err
	}
	r.Keras, err = tftest.Interpreter()
	return r, err
}
