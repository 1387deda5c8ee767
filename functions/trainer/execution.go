package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// execution is one training, known by everything that decides its result before any of it is done.
type execution struct {
	id      string // sha256:<hex>
	module  string // digest of the module's code
	root    storage.Ref
	spec    pipeline.Pipeline
	inputs  []input
	job     events.Job
	attempt string        // that works on the job
	fenced  storage.Store // refuses to write once the job is not provably ours
	log     *slog.Logger

	replaced   *storage.Commit // a commit that is in the way: its objects are gone, or it cancels another job. nil: none
	generation int             // that our model will have
}

// place is where an attempt at the execution keeps its things.
func (e execution) place(attempt string) storage.Place {
	return storage.Place{Root: e.root, Execution: e.id, Attempt: attempt}
}

// replaces says that ours takes the place of a commit, with at least that generation.
func (e *execution) replaces(c storage.Commit, generation int) {
	e.replaced, e.generation = &c, max(e.generation, generation)
}

// baseModel is where the model lies that the training starts from, "" for none.
func (e execution) baseModel() string {
	for _, in := range e.inputs {
		if in.key == baseModel {
			return in.listing.Ref.String()
		}
	}
	return ""
}

// failed adds the execution to a failure, so that the fact which tells of it says which one it was.
func (e execution) failed(err error) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		failure.Execution = e.id
	}
	return err
}

// identity is what an execution's id is the SHA-256 of. Two jobs with equal identities are one execution: it is done once,
// whichever run asks for it. A new field must be left out when empty, or every model there is would be trained again.
type identity struct {
	Function    events.Function `json:"function"`
	Module      string          `json:"module"`
	Inputs      []identityInput `json:"inputs"`
	TrainArgs   pipeline.Args   `json:"train_args"`
	EvalArgs    pipeline.Args   `json:"eval_args"`
	Config      map[string]any  `json:"custom_config,omitempty"`
	Exports     []string        `json:"exports,omitempty"`
	Seed        int64           `json:"seed"`
	Shards      int             `json:"shards"`
	Transformed bool            `json:"transformed"`
	Payload     string          `json:"payload_format,omitempty"` // unless it is tf.Example
	Skew        *pipeline.Skew  `json:"skew,omitempty"`           // that its files passed; nil: they need not
	Salt        string          `json:"salt,omitempty"`
}

// identityInput is one input by what it holds, not by where it lies.
type identityInput struct {
	Key    string `json:"key"`
	Split  string `json:"split,omitempty"`
	Digest string `json:"digest"`
}

// shards is the number of data-parallel parts of a batch. It decides the result, so it never comes from a machine's cores.
const shards = 1

// identityOf is what the job comes down to, with the digest of its module's code.
func identityOf(job events.Job, spec pipeline.Pipeline, module string, inputs []input) identity {
	return identity{
		Function:    job.Function,
		Module:      module,
		Inputs:      byContent(inputs),
		TrainArgs:   spec.Trainer.TrainArgs,
		EvalArgs:    spec.Trainer.EvalArgs,
		Config:      spec.Trainer.CustomConfig,
		Exports:     slices.Sorted(slices.Values(spec.Trainer.Exports)), // their order decides nothing
		Seed:        spec.Trainer.Seed,
		Shards:      shards,
		Transformed: transformed(job),
		Payload:     unusual(payload(job)),
		Skew:        passed(spec.Trainer.Skew),
		Salt:        job.Salt,
	}
}

// digest is canonical: encoding/json writes struct fields in their order and map keys sorted.
func (id identity) digest() (string, error) {
	canonical, err := json.Marshal(id)
	if err != nil {
		return "", inputFailure(fmt.Errorf("execution identity: %w", err))
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// byContent knows each input by what it holds. A base model of Stoker's own is known by its execution, so that one that was
// lost and made again is still the same.
func byContent(inputs []input) []identityInput {
	all := make([]identityInput, len(inputs))
	for i, in := range inputs {
		all[i] = identityInput{Key: in.key, Split: in.split, Digest: in.listing.Digest}
		if in.key == baseModel && in.listing.Execution != "" {
			all[i].Digest = in.listing.Execution
		}
	}
	return all
}

// unusual is a payload format other than tf.Example, which all models were trained on that have none in their identity.
func unusual(payload string) string {
	if payload == events.PayloadExample {
		return ""
	}
	return payload
}

// passed is the comparison that a model went through before it was published: one that asks for another has not been made yet,
// even if its files would be the same.
func passed(skew pipeline.Skew) *pipeline.Skew {
	if !skew.Check {
		return nil
	}
	return &skew
}

// transformed says whether the job's examples went through its transform graph already.
func transformed(job events.Job) bool { return len(job.Inputs.TransformedExamples) > 0 }
