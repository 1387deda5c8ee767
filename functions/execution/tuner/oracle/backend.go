package oracle

import (
	"context"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Backend is where a worker's trials come from and go to: a study's log. Its methods may be called
// by several goroutines, and all but Study wait for nothing that only a tuner of this backend could
// do. An error means that the log or the store can't be used: the process that asked fails, and
// With returns it.
type Backend interface {
	// Study is where the log stands. It waits for the study to be begun, as a tuner may ask before
	// its study is known.
	Study(ctx context.Context) (tune.Study, error)

	// Next is the trial of a tuner: the one that it works on already, as after an answer that was
	// lost or a process that died; else one to be tried again, or a new one. It waits until there
	// is one. Wait: there was none when ctx ended, and the tuner may ask again. Over: nothing for
	// this tuner any more; its search ends.
	Next(ctx context.Context, tuner string) (trial string, verdict tune.Verdict, err error)

	// Found adds parameters to the study's space.
	Found(ctx context.Context, found space.Space) error

	// End is how a try ended; the backend fills in its owner. Of a trial that is in other hands by
	// now nothing is said, and that is no error: what the tuner found is forgotten.
	End(ctx context.Context, ended tune.Ended) error

	// Stop says whether a trial that runs is to end early, with the curves that it has so far.
	Stop(ctx context.Context, trial string, curves map[string][]tune.Point) (bool, error)

	// Keep stores a finished trial's folder, so that others may go on from it, and returns where it
	// is: Ended.Files.
	Keep(ctx context.Context, trial, folder string) (files string, err error)

	// Lay puts what Keep stored of a trial, maybe at another backend, into a folder that is not
	// there yet.
	Lay(ctx context.Context, trial *tune.Trial, folder string) error
}
