package main

import (
	"context"
	"errors"
	"io"

	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// serveObjective is the first argument of a bench that serves a function to a search in another
// process: bench objective NAME.
const serveObjective = "objective"

// objective answers for a function until in ends. See quality.Serve.
func objective(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New(serveObjective + ": expected the name of one function")
	}
	f, err := quality.Find(append(quality.Known(), taxiFunction(ctx)), args[0])
	if err != nil {
		return err
	}
	return quality.Serve(f, in, out)
}
