package module

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/tune"
)

// Module is a user's training code.
type Module struct {
	// Train trains one model. It reads a.TrainFiles, stops after a.TrainSteps, and writes a
	// SavedModel to a.ServingModelDir. When ctx ends, it writes a checkpoint below a.WorkingDir and
	// returns.
	//
	// Train is also called for a trial of a search; then a.Trial is set. The values to try are
	// a.Hyperparameters. The metrics to report are those of the evaluation data: by Report as they
	// become known, and by Result at the end. No model is wanted if a.ServingModelDir is "". Once
	// a.Stopped returns true, the trial ends with the metrics that it has. With a.Trial.Keep it
	// leaves a checkpoint of its last step below a.WorkingDir, where the checkpoint to resume from
	// is found, too.
	Train func(ctx context.Context, a *Args) error

	// Tune returns the search: at least a space and an objective. It trains nothing: each trial is
	// a call of Train. tuner.study in the pipeline takes precedence. nil: the module can't tune.
	Tune func(ctx context.Context, a *Args) (tune.Config, error)

	// Check answers a question about files that others made. The answer is written as JSON, of at
	// most MaxMessageBytes. nil except in compiled-in modules: the worker sends the call to no
	// others.
	Check func(ctx context.Context, question json.RawMessage) (answer any, err error)
}

// ProgressEnv names the environment variable that holds the number of the progress descriptor.
const ProgressEnv = "STOKER_PROGRESS_FD"

// BuiltinPrefix begins the name of a compiled-in module: builtin:dnn.
const BuiltinPrefix = "builtin:"

// ExitStopped is the exit status of a module's process that stopped on request: EX_TEMPFAIL of
// sysexits.h.
const ExitStopped = 75

const (
	exitDone   = 0
	exitFailed = 1
)

// ErrStopped is in the chain of the error of Serve if ctx ended while it was working.
var ErrStopped = errors.New("stopped before it was done")

// Main is the main function of a module's program. It does not return.
func Main(m Module) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(Process(ctx, m))
}

// Process serves m on the descriptors of this process, and returns the exit status. ctx ends when
// the process is asked to stop. Without a progress descriptor, as when a module is started by hand,
// progress goes to standard error.
func Process(ctx context.Context, m Module) (status int) {
	collectLater()
	progress := os.Stderr
	if fd, err := strconv.Atoi(os.Getenv(ProgressEnv)); err == nil {
		syscall.CloseOnExec(fd)
		progress = os.NewFile(uintptr(fd), "progress")
	}
	// The worker's environment is this process's.
	err := errors.Join(kernel.CheckISA(), tfrecord.CheckLimit())
	if err != nil {
		err = errors.Join(err, newSender(progress).send(Message{Type: MessageError, Error: asError(err)}))
	} else {
		err = Serve(ctx, os.Stdin, progress, m)
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, ErrStopped):
		return ExitStopped
	default:
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return exitFailed
	}
}
