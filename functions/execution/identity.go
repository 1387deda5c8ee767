package execution

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Execution is the identity of a job's work, known by everything that decides its result before any of it is done.
type Execution struct {
	ID     string // sha256:<hex>
	Module string // digest of the module's code
	Spec   pipeline.Pipeline
	Inputs []Input
	Job    events.Job
	Log    *slog.Logger

	root    storage.Ref
	outputs map[string]string // TFX's keys of what is published, with TFX's types
	attempt string            // that works on the job
	fenced  storage.Store     // refuses to write once the job is not provably ours

	replaced   *storage.Commit // a commit that is in the way: its objects are gone, or it cancels another job. nil: none
	generation int             // that our result will have
}

// Known is all that a Kind says of an execution.
type Known struct {
	Component string            // of TFX's, under whose name its artifacts lie: Trainer
	Outputs   map[string]string // TFX's keys of what it publishes, with its types: model, Model
	Spec      pipeline.Pipeline
	Module    string // digest of its code
	Inputs    []Input
	Identity  any // what the execution's id is the SHA-256 of, as JSON. Two jobs with equal identities are one execution
}

// Execution is the one that a job comes down to.
func (w *Workshop) Execution(task worker.Task, known Known) (Execution, error) {
	id, err := digest(known.Identity)
	return Execution{
		ID: id, Module: known.Module, Spec: known.Spec, Inputs: known.Inputs, Job: task.Job,
		Log:  w.Log(task).With("execution", id),
		root: w.opts.Root.Join(task.Job.Pipeline, known.Component), outputs: known.Outputs, attempt: task.Attempt.ID,
		fenced: storage.Fenced(w.store, task.Prove), generation: task.Job.Generation,
	}, err
}

// Log says with every line what is being worked on.
func (w *Workshop) Log(task worker.Task) *slog.Logger {
	return w.opts.Logger.With(
		"job", task.Job.ID, "pipeline", task.Job.Pipeline, "run", task.Job.Run, "attempt", task.Attempt.ID)
}

// digest is canonical: encoding/json writes struct fields in their order and map keys sorted.
func digest(identity any) (string, error) {
	canonical, err := json.Marshal(identity)
	if err != nil {
		return "", InputFailure(fmt.Errorf("execution identity: %w", err))
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// place is where an attempt at the execution keeps its things.
func (e Execution) place(attempt string) storage.Place {
	return storage.Place{Root: e.root, Execution: e.ID, Attempt: attempt}
}

// replaces says that ours takes the place of a commit, with at least that generation.
func (e *Execution) replaces(c storage.Commit, generation int) {
	e.replaced, e.generation = &c, max(e.generation, generation)
}

// tell makes the fact of a committed result.
func (e Execution) tell(kind Kind, done Result) ([]events.Fact, error) {
	fact, err := kind.Tell(e.Job, done)
	if err != nil {
		return nil, e.failed(InputFailure(fmt.Errorf("manifest of execution %s: %w", e.ID, err)))
	}
	return []events.Fact{fact}, nil
}

// failed adds the execution to a failure, so that the fact which tells of it says which one it was.
func (e Execution) failed(err error) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		failure.Execution = e.ID
	}
	return err
}

// InputID is one input by what it holds, not by where it lies: a part of identities.
type InputID struct {
	Key    string `json:"key"`
	Split  string `json:"split,omitempty"`
	Digest string `json:"digest"`
}

// ByContent knows each input by what it holds. A base model and hyperparameters of Stoker's own are known by their
// execution, so that what was lost and made again is still the same.
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

// UnusualPayload is a payload format other than tf.Example, which all are known by that have none in their identity.
func UnusualPayload(job events.Job) string {
	if payload := Payload(job); payload != events.PayloadExample {
		return payload
	}
	return ""
}

// Payload is the format of the examples' records.
func Payload(job events.Job) string {
	_, examples := examplesOf(job.Inputs)
	return examples[0].Payload()
}

// Transformed says whether the job's examples went through its transform graph already.
func Transformed(job events.Job) bool { return len(job.Inputs.TransformedExamples) > 0 }
