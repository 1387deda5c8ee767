package trainer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// input is one artifact, or one split of one, that a job reads.
type input struct {
	key     string // field of the job's inputs it came from: examples[0]
	kind    string // TFX's type name
	split   string // "train" for Split-train, "" for a whole artifact
	pattern string // of the split's files below the listed folder; "" is all in it
	dir     string // where it is staged, below the attempt's in folder
	listing storage.Listing
}

// list finds every input in the store, without reading any. What is not there is the job's own fault.
func (t *Trainer) list(ctx context.Context, job events.Job, spec pipeline.Pipeline) ([]input, error) {
	wanted, err := wanted(job.Inputs, splits(spec))
	if err != nil {
		return nil, err
	}
	var listing errgroup.Group
	listing.SetLimit(atOnce)
	failures := make([]error, len(wanted))
	for i, in := range wanted {
		listing.Go(func() (err error) {
			if wanted[i].listing, err = t.listOne(ctx, in); err != nil {
				failures[i] = t.explain(ctx, in, err)
			}
			return failures[i]
		})
	}
	if listing.Wait() == nil {
		return wanted, nil
	}
	// Of several failures the first in the order of the inputs is told, so that a job fails alike each time.
	return nil, failures[slices.IndexFunc(failures, func(err error) bool { return err != nil })]
}

// baseModel is the key of the model whose weights a training starts from.
const baseModel = "base_model"

// listOne lists an input where it lies now: a base model may have been lost and made again.
func (t *Trainer) listOne(ctx context.Context, in input) (_ storage.Listing, err error) {
	ref := in.listing.Ref
	if in.key == baseModel {
		if ref, err = storage.Resolve(ctx, t.store, ref); err != nil {
			return storage.Listing{}, err
		}
	}
	listing, err := storage.List(ctx, t.store, ref)
	if err == nil && in.pattern != "" {
		listing, err = listing.Matching(in.pattern)
	}
	return listing, err
}

// wanted names the inputs: each split of each Examples artifact, and whatever else the job was given.
func wanted(in events.Inputs, splits []string) ([]input, error) {
	key, examples := examplesOf(in)
	if len(examples) == 0 {
		return nil, inputFailure(&events.Invalid{Field: "inputs.examples", Expected: "examples or transformed_examples named by a fact of the run"})
	}
	if err := events.CheckPayloads("inputs."+key, examples); err != nil {
		return nil, inputFailure(err)
	}
	var all []input
	for i, artifact := range examples {
		for _, split := range splits {
			if !artifact.Has(split) {
				return nil, inputFailure(fmt.Errorf("%s[%d]: split %q is not among those that the fact lists: %s", key, i, split, strings.Join(artifact.SplitNames(), ", ")))
			}
			all = append(all, splitOf(fmt.Sprintf("%s[%d]", key, i), path.Join(fmt.Sprintf("examples-%d", i), splitFolder+split), artifact, split))
		}
	}
	for _, other := range []struct{ key, kind, uri string }{
		{"schema", "Schema", in.Schema},
		{"statistics", "ExampleStatistics", in.Statistics},
		{"transform_graph", "TransformGraph", in.TransformGraph},
		{"hyperparameters", "HyperParameters", in.Hyperparameters},
		{baseModel, "Model", in.BaseModel},
	} {
		if other.uri != "" {
			all = append(all, input{key: other.key, kind: other.kind, dir: other.key, listing: storage.Listing{Ref: refOf(other.uri)}})
		}
	}
	return all, nil
}

// examplesOf are the examples that a job trains on: the transformed ones, where there are any.
func examplesOf(in events.Inputs) (key string, examples []events.Examples) {
	if len(in.TransformedExamples) > 0 {
		return "transformed_examples", in.TransformedExamples
	}
	return "examples", in.Examples
}

// payload is the format of the examples' records.
func payload(job events.Job) string {
	_, examples := examplesOf(job.Inputs)
	return examples[0].Payload()
}

// splitOf is one split of an Examples artifact: its folder, or what the artifact's own pattern names.
func splitOf(key, dir string, artifact events.Examples, split string) input {
	folder, pattern := artifact.Files(split)
	listing := storage.Listing{Ref: refOf(artifact.URI).Join(folder)}
	return input{key: key, kind: "Examples", split: split, pattern: pattern, dir: dir, listing: listing}
}

// splits are those that training or evaluation reads, each once.
func splits(spec pipeline.Pipeline) []string {
	all := slices.Concat(spec.Trainer.TrainArgs.Splits, spec.Trainer.EvalArgs.Splits)
	slices.Sort(all)
	return slices.Compact(all)
}

// refOf parses an address that a fact brought. An invalid one becomes a Ref that the store refuses by name.
func refOf(uri string) storage.Ref {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return storage.Ref{Key: uri}
	}
	return ref
}

// explain says what a missing split's artifact holds instead.
func (t *Trainer) explain(ctx context.Context, in input, err error) error {
	if in.pattern != "" {
		return storeFailure(fmt.Errorf("%s: split %q: %w", in.key, in.split, err))
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return storeFailure(fmt.Errorf("%s: %w", in.key, err))
	}
	if in.split == "" {
		return inputFailure(missing(in, err))
	}
	artifact := storage.Ref{Bucket: in.listing.Ref.Bucket, Key: path.Dir(in.listing.Ref.Key)}
	there := map[string]bool{}
	for object, listErr := range t.store.List(ctx, artifact.Folder()) {
		if listErr != nil {
			return storeFailure(fmt.Errorf("%s: %w", in.key, listErr))
		}
		if name, ok := object.Ref.Below(artifact); ok {
			folder, _, _ := strings.Cut(name, "/")
			there[folder] = true
		}
	}
	return inputFailure(inWords{
		fmt.Sprintf("%s: split %q does not exist in %s, which holds %s", in.key, in.split, artifact, names(there)), err,
	})
}

// missing says where nothing is, and what helps. What the store says of it names the address twice more.
func missing(in input, err error) error {
	return inWords{fmt.Sprintf("%s: there is no object and no folder at %s: put it there and try again, or publish a fact with the right address "+
		"under another run", in.key, in.listing.Ref), err}
}

func names(set map[string]bool) string {
	if len(set) == 0 {
		return "nothing"
	}
	all := make([]string, 0, len(set))
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// artifacts are the inputs as facts tell of them.
func artifacts(inputs []input) []events.Artifact {
	all := make([]events.Artifact, len(inputs))
	for i, in := range inputs {
		all[i] = events.Artifact{Type: in.kind, URI: in.listing.Ref.String(), Digest: in.listing.Digest}
	}
	return all
}
