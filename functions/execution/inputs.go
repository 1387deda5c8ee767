package execution

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

// Input is one artifact, or one split of one, that a job reads.
type Input struct {
	Key     string // field of the job's inputs it came from: examples[0]
	Kind    string // TFX's type name
	Split   string // "train" for Split-train, "" for a whole artifact
	Dir     string // where it is staged, below the attempt's in folder
	Listing storage.Listing

	pattern string // of the split's files below the listed folder; "" is all in it
}

// list finds every input of a job in the store, without reading any: of its examples the splits
// that its args name. A missing input is the job's own fault.
func (x *Executor) list(ctx context.Context, d Description) ([]Input, error) {
	wanted, err := wanted(d.Reads, splits(d.Args))
	if err != nil {
		return nil, err
	}
	var listing errgroup.Group
	listing.SetLimit(atOnce)
	failures := make([]error, len(wanted))
	for i, in := range wanted {
		listing.Go(func() (err error) {
			if wanted[i].Listing, err = x.listOne(ctx, in); err != nil {
				failures[i] = x.explain(ctx, in, err)
			}
			return failures[i]
		})
	}
	if listing.Wait() == nil {
		return wanted, nil
	}
	// Of several failures the first in the order of the inputs is returned, so that a job fails
	// alike each time.
	return nil, failures[slices.IndexFunc(failures, func(err error) bool { return err != nil })]
}

// Keys of inputs. Stoker itself may have made the first two.
const (
	BaseModel       = "base_model" // the model whose weights a training starts from
	Hyperparameters = "hyperparameters"

	transformGraph = "transform_graph"
)

// remade says whether an input may have been lost and made again, by the execution that made it
// first.
func (in Input) remade() bool { return in.Key == BaseModel || in.Key == Hyperparameters }

// listOne lists an input where it lies now.
func (x *Executor) listOne(ctx context.Context, in Input) (_ storage.Listing, err error) {
	ref := in.Listing.Ref
	if in.remade() {
		if ref, err = storage.Resolve(ctx, x.store, ref); err != nil {
			return storage.Listing{}, err
		}
	}
	listing, err := storage.List(ctx, x.store, ref)
	if err == nil && in.pattern != "" {
		listing, err = listing.Matching(in.pattern)
	}
	return listing, err
}

// wanted names the inputs: each split of each Examples artifact, and whatever else the job was
// given.
func wanted(in events.Inputs, splits []string) ([]Input, error) {
	key, examples := examplesOf(in)
	if len(examples) == 0 {
		const expected = "examples or transformed_examples named by an event of the run"
		return nil, InputFailure(&events.Invalid{Field: "inputs.examples", Expected: expected})
	}
	if err := events.CheckPayloads("inputs."+key, examples); err != nil {
		return nil, InputFailure(err)
	}
	var all []Input
	for i, artifact := range examples {
		for _, split := range splits {
			if !artifact.Has(split) {
				return nil, InputFailure(fmt.Errorf("%s[%d]: split %q is not among those that the event lists: %s",
					key, i, split, strings.Join(artifact.SplitNames(), ", ")))
			}
			dir := path.Join(fmt.Sprintf("examples-%d", i), SplitFolder+split)
			all = append(all, SplitOf(fmt.Sprintf("%s[%d]", key, i), dir, artifact, split))
		}
	}
	for _, other := range []struct{ key, kind, uri string }{
		{"schema", "Schema", in.Schema},
		{"statistics", "ExampleStatistics", in.Statistics},
		{transformGraph, "TransformGraph", in.TransformGraph},
		{Hyperparameters, "HyperParameters", in.Hyperparameters},
		{BaseModel, "Model", in.BaseModel},
	} {
		if other.uri != "" {
			all = append(all, Input{Key: other.key, Kind: other.kind, Dir: other.key, Listing: storage.Listing{Ref: refOf(other.uri)}})
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

// SplitOf is one split of an Examples artifact: its folder, or what the artifact's own pattern
// names.
func SplitOf(key, dir string, artifact events.Examples, split string) Input {
	folder, pattern := artifact.Files(split)
	listing := storage.Listing{Ref: refOf(artifact.URI).Join(folder)}
	return Input{Key: key, Kind: "Examples", Split: split, Dir: dir, Listing: listing, pattern: pattern}
}

// splits are those that training or evaluation reads, each once.
func splits(args []pipeline.Args) []string {
	var all []string
	for _, reads := range args {
		all = append(all, reads.Splits...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// refOf parses an address that an event brought. An invalid one becomes a Ref that the store
// refuses by name.
func refOf(uri string) storage.Ref {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return storage.Ref{Key: uri}
	}
	return ref
}

// explain says what a missing split's artifact holds instead.
func (x *Executor) explain(ctx context.Context, in Input, err error) error {
	if in.pattern != "" {
		return StoreFailure(fmt.Errorf("%s: split %q: %w", in.Key, in.Split, err))
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return StoreFailure(fmt.Errorf("%s: %w", in.Key, err))
	}
	if in.Split == "" {
		return InputFailure(missing(in, err))
	}
	artifact := storage.Ref{Bucket: in.Listing.Ref.Bucket, Key: path.Dir(in.Listing.Ref.Key)}
	there := map[string]bool{}
	for object, listErr := range x.store.List(ctx, artifact.Folder()) {
		if listErr != nil {
			return StoreFailure(fmt.Errorf("%s: %w", in.Key, listErr))
		}
		if name, ok := object.Ref.Below(artifact); ok {
			folder, _, _ := strings.Cut(name, "/")
			there[folder] = true
		}
	}
	return InputFailure(inWords{
		fmt.Sprintf("%s: split %q does not exist in %s, which holds %s", in.Key, in.Split, artifact, names(there)), err,
	})
}

// missing says where nothing is, and what helps. What the store says of it names the address twice
// more.
func missing(in Input, err error) error {
	return inWords{fmt.Sprintf("%s: there is no object and no folder at %s: put it there and try again, or publish an event with the right address "+
		"under another run", in.Key, in.Listing.Ref), err}
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

// Artifacts are the inputs as events have them.
func Artifacts(inputs []Input) []events.Artifact {
	all := make([]events.Artifact, len(inputs))
	for i, in := range inputs {
		all[i] = events.Artifact{Type: in.Kind, URI: in.Listing.Ref.String(), Digest: in.Listing.Digest}
	}
	return all
}

// SplitFolder begins the name of a split's folder in an artifact.
const SplitFolder = "Split-"
