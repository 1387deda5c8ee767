package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/group"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Attempt is one try at an execution, on a desk of its own. Its methods are called in the order they have here, each once.
type Attempt struct {
	worker.Task
	Execution Execution
	Desk      Desk
	Started   time.Time
	Resumed   int // step of the checkpoint that it goes on from; 0: from the start

	from               string      // which checkpoint that is; "" for none
	module             code        // once it was found
	also               []Input     // that were staged and decide nothing of the result
	together           *group.Work // of all hosts of the worker's group; nil: this one works alone
	shop               *Workshop
	checkpoints        *storage.Checkpoints // of the execution; nil before it was looked for one
	mayHaveCheckpoints bool                 // of this attempt or of another

	log, logTail string // of the module, once it has run: where it is kept, and how it ends
}

// Attempt begins a try at an execution. It is to be closed.
func (w *Workshop) Attempt(task worker.Task, e Execution) (*Attempt, error) {
	desk, err := w.openDesk(task, e.outputs)
	if err != nil {
		return nil, err
	}
	return &Attempt{Task: task, Execution: e, Desk: desk, Started: w.opts.Now(), shop: w}, nil
}

// Close takes the desk away, and has the other hosts of the group end what they do for the attempt.
func (a *Attempt) Close() {
	if a.together != nil {
		a.together.End()
	}
	a.Desk.clear()
}

// Outcome is what the rest of an attempt comes to: finish runs the module and makes what it leaves the outcome of the execution,
// while the checkpoints for which it calls take are sent. Those of an execution that is committed are removed.
func (a *Attempt) Outcome(ctx context.Context, finish func(take Take) (*Result, error)) (done *Result, err error) {
	err = a.saving(ctx, func(take Take) (err error) {
		done, err = finish(take)
		return err
	})
	if err != nil {
		return nil, a.withLog(err)
	}
	a.forget(ctx)
	return done, nil
}

// withLog adds the module's log to the failure of a check: why a module has left no model is often said there.
func (a *Attempt) withLog(err error) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureCheck && failure.Log == "" {
		failure.Log, failure.LogTail = a.log, a.logTail
	}
	return err
}

// CountTrial tells of a trial that the attempt has ended.
func (a *Attempt) CountTrial(ctx context.Context, status string) {
	a.shop.opts.Telemetry.Trial(ctx, a.Job.Pipeline, status)
}

// Now is the time that a story tells.
func (a *Attempt) Now() time.Time { return a.shop.opts.Now() }

// Whoever reads an event, a manifest or a reason is on another machine, and the folder of the attempt is gone by then. So whatever an
// attempt says passes through here: errors by CloseWith, or AtAddresses where they end sooner; stories by Publish; texts that are cut
// to a length by AtAddress first, since half a path can't be found again.

// CloseWith closes the attempt, and makes the error that it ends with name things as AtAddress does.
func (a *Attempt) CloseWith(err *error) {
	*err = a.AtAddresses(*err)
	a.Close()
}

// AtAddresses makes an error name things as AtAddress does, the end of a log in a failure too.
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

// AtAddress is a text in which each path of the attempt's folder is what everybody knows: the address of an input or of the module, or the
// path that a file has within the artifact that is made of it: model/Format-Serving. The module's other files begin with working, answers or trials.
func (a *Attempt) AtAddress(text string) string { return a.names().Replace(text) }

// storyAtAddress is AtAddress for a story in JSON.
func (a *Attempt) storyAtAddress(story []byte) []byte {
	return []byte(a.replacer(func(text string) string {
		quoted, _ := json.Marshal(text) // a string is JSON
		return string(quoted[1 : len(quoted)-1])
	}).Replace(string(story)))
}

func (a *Attempt) names() *strings.Replacer {
	return a.replacer(func(text string) string { return text })
}

// replacer puts names in the place of paths, both as they are written in a text.
func (a *Attempt) replacer(written func(string) string) *strings.Replacer {
	type named struct{ path, name string }
	dir := a.Desk.Beside("")
	all := []named{
		{a.Desk.Out() + "/", ""}, {a.Desk.Out(), "the outputs"}, {dir + "/", ""}, {dir, "the folder of the attempt"},
	}
	if a.module.address != "" {
		all = append(all, named{a.module.source.Path, a.module.address})
	}
	for _, in := range slices.Concat(a.Execution.Inputs, a.also) {
		ref, dir := in.Listing.Ref, a.Desk.In(in.Dir)
		address := strings.TrimSuffix(ref.String(), "/")
		if files := in.Listing.Files; len(files) == 1 && files[0].Path == path.Base(ref.Key) {
			all = append(all, named{filepath.Join(dir, files[0].Path), address}) // an object, which is staged in a folder
		}
		all = append(all, named{dir, address})
	}
	// The replacer takes the first that fits: examples-10 is not examples-1 and a nought.
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(len(b.path), len(a.path)) })
	pairs := make([]string, 0, 2*len(all))
	for _, in := range all {
		pairs = append(pairs, written(in.path), written(in.name))
	}
	return strings.NewReplacer(pairs...)
}

// inOtherWords is err as it is told in other words; err itself if these are the same.
func inOtherWords(err error, names *strings.Replacer) error {
	words := names.Replace(err.Error())
	if words == err.Error() {
		return err
	}
	return inWords{words, err}
}

// inWords is an error told in other words.
type inWords struct {
	words string
	error
}

func (e inWords) Error() string { return e.words }
func (e inWords) Unwrap() error { return e.error }
