package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Attempt is one try at an execution, in a workspace of its own.
type Attempt struct {
	worker.Task
	Execution Execution
	Workspace Workspace
	Started   time.Time
	Resumed   int // step of the checkpoint that it resumes from; 0: from the start

	from   string           // the checkpoint that it resumes from; "" for none
	module code             // the module, once it is found
	ran    runner.Platform  // what the module ran on, once it has run
	also   []Input          // staged inputs that don't determine the result
	group  *multihost.Round // all hosts of the worker's group; nil: this host works alone
	// The round of a member of the group; nil: this host leads, or works alone.
	round              *multihost.MemberRound
	executor           *Executor
	checkpoints        *storage.Checkpoints // of the execution; nil before resume
	checkpointer       *Checkpointer        // nil: the attempt saves no checkpoints
	mayHaveCheckpoints bool                 // of this attempt or of another one
	// Parts whose checkpoints are no longer needed once the execution is committed.
	obsolete []*Part

	log, logTail string // address and last lines of the module's log, once the module has run
}

// Open begins a try at an execution. The attempt must be closed.
func (x *Executor) Open(task worker.Task, e Execution) (*Attempt, error) {
	workspace, err := x.openWorkspace(task, e.Outputs)
	if err != nil {
		return nil, err
	}
	return &Attempt{Task: task, Execution: e, Workspace: workspace, Started: x.opts.Now(), executor: x}, nil
}

// CloseWith closes the attempt. It adds the module's log to the failure of a check, which often
// says why a module has left no model, and makes the error name things as AtAddress does.
func (a *Attempt) CloseWith(err *error) {
	if failure, ok := errors.AsType[*events.Failure](*err); ok && failure.Kind == events.FailureCheck && failure.Log == "" {
		failure.Log, failure.LogTail = a.log, a.logTail
	}
	*err = a.AtAddresses(*err)
	a.Close()
}

// Close waits until the last checkpoint is sent, so that the next attempt finds it, ends the work
// of the group's other hosts for the attempt, and removes the workspace.
func (a *Attempt) Close() {
	a.stopCheckpointer(false)
	if a.group != nil {
		a.group.End()
	}
	a.Workspace.remove()
}

// Result returns what is known of the attempt's result before its module has run.
func (a *Attempt) Result() result.Result {
	return result.Result{
		Job: a.Job.ID, Module: a.Execution.Module, Inputs: Artifacts(a.Execution.Inputs), Started: a.Started,
		Attempts: a.Task.Attempt.Number, Resumed: a.Resumed,
	}
}

// environment returns what the attempt ran on.
func (a *Attempt) environment() *result.Environment {
	return &result.Environment{
		Worker: a.Task.Worker.ID, Host: a.Task.Worker.Host, Stoker: a.Task.Worker.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Image: a.executor.opts.Image, Python: a.ran.Python, TensorFlow: a.ran.TensorFlow, Keras: a.ran.Keras, GPU: a.ran.GPU, GPUs: a.ran.GPUs,
	}
}

// CountTrial counts a trial that the attempt has ended.
func (a *Attempt) CountTrial(ctx context.Context, status string) {
	a.executor.opts.Telemetry.Trial(ctx, a.Job.Pipeline, status)
}

// Events, manifests and reasons are read on other machines, after the workspace was removed. So
// whatever an attempt reports passes through the functions below: errors through CloseWith, or
// through AtAddresses if they are handled before; results through publish; texts that are shortened
// through AtAddress first, because a path that was cut in half isn't recognized.

// AtAddresses makes an error, and the end of the log in a failure, name things as AtAddress does.
func (a *Attempt) AtAddresses(err error) error {
	if err == nil {
		return nil
	}
	names := a.names()
	failure, ok := errors.AsType[*events.Failure](err)
	if !ok {
		return inOtherWords(err, names)
	}
	failure.Err = inOtherWords(failure.Err, names)
	failure.LogTail = names.Replace(failure.LogTail)
	return err
}

// AtAddress returns the text with each path of the workspace replaced by a name that is valid on
// any machine: the address of an input or of the module, or the path that a file has within the
// artifact that it is published in, like model/Format-Serving. The module's other files begin with
// working, answers or trials.
func (a *Attempt) AtAddress(text string) string { return a.names().Replace(text) }

// resultAtAddress is AtAddress for a result in JSON.
func (a *Attempt) resultAtAddress(text []byte) []byte {
	return []byte(a.replacer(func(text string) string {
		quoted, _ := json.Marshal(text) // a string is JSON
		return string(quoted[1 : len(quoted)-1])
	}).Replace(string(text)))
}

func (a *Attempt) names() *strings.Replacer {
	return a.replacer(func(text string) string { return text })
}

// replacer replaces paths by names, both in the form in which written returns them.
func (a *Attempt) replacer(written func(string) string) *strings.Replacer {
	type named struct{ path, name string }
	dir := a.Workspace.Path("")
	all := []named{
		{a.Workspace.Out() + "/", ""}, {a.Workspace.Out(), "the outputs"}, {dir + "/", ""}, {dir, "the folder of the attempt"},
	}
	if a.module.address != "" {
		all = append(all, named{a.module.source.Path, a.module.address})
	}
	for _, in := range slices.Concat(a.Execution.Inputs, a.also) {
		ref, dir := in.Listing.Ref, a.Workspace.In(in.Dir)
		address := strings.TrimSuffix(ref.String(), "/")
		if files := in.Listing.Files; len(files) == 1 && files[0].Path == path.Base(ref.Key) {
			// An object, which is staged in a directory.
			all = append(all, named{filepath.Join(dir, files[0].Path), address})
		}
		all = append(all, named{dir, address})
	}
	// The replacer takes the first pair that matches: examples-10 must come before examples-1.
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(len(b.path), len(a.path)) })
	pairs := make([]string, 0, 2*len(all))
	for _, in := range all {
		pairs = append(pairs, written(in.path), written(in.name))
	}
	return strings.NewReplacer(pairs...)
}

// inOtherWords returns err with another text; err itself if the text is the same.
func inOtherWords(err error, names *strings.Replacer) error {
	words := names.Replace(err.Error())
	if words == err.Error() {
		return err
	}
	return inWords{words, err}
}

// inWords is an error with another text.
type inWords struct {
	words string
	error
}

func (e inWords) Error() string { return e.words }
func (e inWords) Unwrap() error { return e.error }
