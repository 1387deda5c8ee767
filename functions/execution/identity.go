package execution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Execution identifies a job's work by everything that determines its result. It is known before
// any of the work is done.
type Execution struct {
	Description
	ID     string // sha256:<hex>
	Module string // digest of the module's code
	Inputs []Input
	Job    events.Job
	Log    *slog.Logger

	root    storage.Ref
	attempt string        // the attempt that works on the job
	fenced  storage.Store // refuses to write if the job's lease is not provably held

	// A commit to replace: its objects are gone, or it cancels another job; nil: none.
	replaced   *storage.Commit
	generation int // the generation that our result will have
}

// Identify lists a job's inputs and digests its module, in order to find out which execution it is.
// It only reads.
func (x *Executor) Identify(ctx context.Context, task worker.Task, c Component) (e Execution, err error) {
	ctx, span := telemetry.Start(ctx, "identify")
	defer span.End(&err)
	e = Execution{
		Job: task.Job, attempt: task.Attempt.ID, fenced: storage.Fenced(x.store, task.Prove), generation: task.Job.Generation,
	}
	if e.Description, err = c.Describe(task.Job); err != nil {
		return Execution{}, err
	}
	if e.Inputs, err = x.list(ctx, e.Description); err != nil {
		return Execution{}, err
	}
	if e.Module, err = x.moduleDigest(ctx, e.Spec.Module.Source()); err != nil {
		return Execution{}, err
	}
	if e.ID, err = digest(c.Identity(e)); err != nil {
		return Execution{}, err
	}
	e.root = x.opts.Root.Join(task.Job.Pipeline, e.Component)
	e.Log = x.Log(task).With("execution", e.ID)
	span.Text("stoker.execution", e.ID)
	return e, nil
}

// digest hashes the identity in a canonical form: encoding/json writes struct fields in their
// order, and map keys sorted.
func digest(identity any) (string, error) {
	canonical, err := json.Marshal(identity)
	if err != nil {
		return "", InputFailure(fmt.Errorf("execution identity: %w", err))
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// place returns where an attempt at the execution stores its objects.
func (e Execution) place(attempt string) storage.Place {
	return storage.Place{Root: e.root, Execution: e.ID, Attempt: attempt}
}

// replaces notes that our commit replaces another one, with at least that generation.
func (e *Execution) replaces(c storage.Commit, generation int) {
	e.replaced, e.generation = &c, max(e.generation, generation)
}

// event makes the event of a committed result. It reads the result from the manifest, so that a
// cache hit announces the same.
func (e Execution) event(c Component, done Committed) ([]events.Event, error) {
	made, err := result.Of(done.Manifest)
	if err != nil {
		return nil, InputFailure(fmt.Errorf("manifest of execution %s: %w", e.ID, err))
	}
	return []events.Event{c.Event(e.Job, done, made)}, nil
}

// failed adds the execution to a failure, so that the event of the failure names it.
func (e Execution) failed(err error) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		failure.Execution = e.ID
	}
	return err
}

// InputID identifies one input by its content, not by its address. Identities contain it.
type InputID struct {
	Key    string `json:"key"`
	Split  string `json:"split,omitempty"`
	Digest string `json:"digest"`
}

// ByContent identifies each input by its content. A base model or hyperparameters that Stoker made
// are identified by their execution, so that they stay the same if they are lost and made again.
func ByContent(inputs []Input) []InputID {
	all := make([]InputID, len(inputs))
	for i, in := range inputs {
		all[i] = InputID{Key: in.Key, Split: in.Split, Digest: in.Listing.Digest}
		if in.remade() && in.Listing.Execution != "" {
			all[i].Digest = in.Listing.Execution
		}
	}
	return all
}

// UnusualPayload returns the payload format unless it is tf.Example, which identities leave out.
func UnusualPayload(job events.Job) string {
	if payload := Payload(job); payload != events.PayloadExample {
		return payload
	}
	return ""
}

// Payload returns the format of the examples' records.
func Payload(job events.Job) string {
	_, examples := examplesOf(job.Inputs)
	return examples[0].Payload()
}

// Transformed reports whether the job's examples were transformed by its transform graph already.
func Transformed(job events.Job) bool { return len(job.Inputs.TransformedExamples) > 0 }
