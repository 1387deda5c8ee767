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
	Key     string // the field of the job's inputs that it comes from: examples[0]
	Kind    string // TFX's type name
	Split   string // "train" for Split-train, "" for a whole artifact
	Dir     string // the directory that it is staged in, below the attempt's in/
	Listing storage.Listing

	pattern string // pattern of the split's files below the listed directory; "": all files in it
}

// list lists every input of a job in the store, without reading any. Of the job's examples it lists
// the splits that the job's args name. A missing input is the fault of the job.
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
	// Of several failures it returns the first in the order of the inputs, so that a job fails in
	// the same way each time.
	return nil, failures[slices.IndexFunc(failures, func(err error) bool { return err != nil })]
}

// Keys of inputs. The first two may have been made by Stoker.
const (
	BaseModel       = "base_model" // the model whose weights the training starts from
	Hyperparameters = "hyperparameters"

	transformGraph = "transform_graph"
)

// remade reports whether the input may be one that was lost and that the same execution made again.
func (in Input) remade() bool { return in.Key == BaseModel || in.Key == Hyperparameters }

// listOne lists an input at its address.
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

// wanted returns the inputs: each split of each Examples artifact, and all other artifacts of the
// job.
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
				return nil, InputFailure(fmt.Errorf("%s[%d]: split %q is not among the splits of the event: %s",
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

// examplesOf returns the examples that a job trains on: the transformed ones if there are any.
func examplesOf(in events.Inputs) (key string, examples []events.Examples) {
	if len(in.TransformedExamples) > 0 {
		return "transformed_examples", in.TransformedExamples
	}
	return "examples", in.Examples
}

// SplitOf returns one split of an Examples artifact: its directory, or the files that the
// artifact's own pattern matches.
func SplitOf(key, dir string, artifact events.Examples, split string) Input {
	folder, pattern := artifact.Files(split)
	listing := storage.Listing{Ref: refOf(artifact.URI).Join(folder)}
	return Input{Key: key, Kind: "Examples", Split: split, Dir: dir, Listing: listing, pattern: pattern}
}

// splits returns the splits that training or evaluation reads, each once.
func splits(args []pipeline.Args) []string {
	var all []string
	for _, reads := range args {
		all = append(all, reads.Splits...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// refOf parses an address in an event. Of an invalid one it makes a Ref that the store refuses by
// name.
func refOf(uri string) storage.Ref {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return storage.Ref{Key: uri}
	}
	return ref
}

// explain adds to the error of a missing split which splits the artifact has.
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

// missing returns an error that says where nothing was found, and what to do. It leaves out the
// store's own error, which repeats the address twice.
func missing(in Input, err error) error {
	return inWords{fmt.Sprintf("%s: no object or folder exists at %s: upload it and retry, or publish an event with the correct address "+
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

// Artifacts returns the inputs as events describe them.
func Artifacts(inputs []Input) []events.Artifact {
	all := make([]events.Artifact, len(inputs))
	for i, in := range inputs {
		all[i] = events.Artifact{Type: in.Kind, URI: in.Listing.Ref.String(), Digest: in.Listing.Digest}
	}
	return all
}

// SplitFolder begins the name of a split's directory in an artifact.
const SplitFolder = "Split-"
