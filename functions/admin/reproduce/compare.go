package reproduce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// Report compares a model that was made again with the original.
type Report struct {
	Same bool    `json:"same"` // derived from Verdict: true for all but Different
	How  Verdict `json:"how"`

	Then  Side `json:"then"`
	Again Side `json:"again"`

	// Inputs that were read this time and not then, or the other way round.
	Inputs  []string `json:"inputs,omitempty"`
	Files   []string `json:"files,omitempty"` // files whose bytes differ
	Metrics []Metric `json:"metrics,omitempty"`
	Weights *Weights `json:"weights,omitempty"` // nil if the files are the same
	Note    string   `json:"note,omitempty"`    // why there are none
	// Why a difference may not be a fault, and what to do.
	Hint string `json:"hint,omitempty"`
}

// Side is one of the two models.
type Side struct {
	Model     string `json:"model"`
	Digest    string `json:"digest"`
	Execution string `json:"execution"`
	Module    string `json:"module"` // digest of the code
}

// Verdict says how similar the models are.
type Verdict string

// The verdicts.
const (
	EqualFiles Verdict = "equal files" // the same digest
	// Equal to the last bit, and metrics too; other files differ, as protos that TensorFlow writes
	// do.
	EqualWeights Verdict = "equal weights"
	Within       Verdict = "within tolerance" // weights and metrics differ by at most the tolerance
	Different    Verdict = "different"
)

// Metric is a metric of both models.
type Metric struct {
	Name  string   `json:"name"`
	Then  *float64 `json:"then"` // nil: it was not measured
	Again *float64 `json:"again"`
}

// Options of Compare.
type Options struct {
	// The largest absolute difference of a weight or a metric that counts as the same.
	Tolerance float64
	Dir       string // for temporary copies of weights; default: the system's temporary directory
}

// Compare compares two models by their events and manifests, and by their weights if the files
// differ.
func Compare(ctx context.Context, store storage.Store, then, again *events.ModelTrained, o Options) (Report, error) {
	r := Report{Then: sideOf(then), Again: sideOf(again), Inputs: inputs(then, again), Metrics: compareMetrics(then.Metrics, again.Metrics)}
	if then.Module != again.Module {
		r.Inputs = append(r.Inputs, fmt.Sprintf("module: its code was %s, and is now %s", then.Module, again.Module))
	}
	if then.Model.Digest == again.Model.Digest {
		r.How, r.Same = EqualFiles, true
		return r, nil
	}
	var err error
	if r.Files, err = files(ctx, store, then.Model.URI, again.Model.URI); err == nil {
		r.Weights, err = weights(ctx, store, then.Model.URI, again.Model.URI, o.Dir)
	}
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, errNoWeights):
		r.Note, err = "weights not compared: "+err.Error(), nil
	case err != nil:
		return r, err
	}
	r.How = r.verdict(o.Tolerance)
	r.Same = r.How != Different
	return r, nil
}

// Explain adds, for a different model, which of its job's results depend on chance.
func (r *Report) Explain(job events.Job) {
	spec, err := pipeline.FromJSON(job.Spec)
	if r.Same || err != nil || spec.Module.IsBuiltin() || bool(spec.Trainer.Deterministic) {
		return
	}
	r.Hint = "the pipeline's trainer.deterministic is off: the order of sums in threads or on a GPU, and of data read in parallel, " +
		"may cause the difference; with deterministic: on, TensorFlow gives the same bits each time"
}

func (r Report) verdict(tolerance float64) Verdict {
	largest := r.largestMetric()
	switch {
	case r.Weights == nil || len(r.Weights.Unlike) > 0:
		return Different
	case r.Weights.Largest == 0 && largest == 0:
		return EqualWeights
	case r.Weights.Largest <= tolerance && largest <= tolerance:
		return Within
	}
	return Different
}

// largestMetric returns the largest difference of a metric; infinite if only one model has it.
func (r Report) largestMetric() (largest float64) {
	for _, m := range r.Metrics {
		if m.Then == nil || m.Again == nil {
			return math.Inf(1)
		}
		largest = max(largest, distance(*m.Then, *m.Again))
	}
	return largest
}

// distance returns the distance of two numbers. Two NaNs are equal.
func distance(a, b float64) float64 {
	switch d := math.Abs(a - b); {
	case a == b, math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(d):
		return math.Inf(1)
	default:
		return d
	}
}

func sideOf(m *events.ModelTrained) Side {
	return Side{Model: m.Model.URI, Digest: m.Model.Digest, Execution: m.Execution, Module: m.Module}
}

// inputs returns the inputs that only one of the two has read, by content.
func inputs(then, again *events.ModelTrained) (all []string) {
	report := func(a, b []events.Artifact, what string) {
		for _, in := range a {
			if !slices.ContainsFunc(b, func(other events.Artifact) bool { return other.Type == in.Type && other.Digest == in.Digest }) {
				all = append(all, fmt.Sprintf("%s %s (%s) was read only %s", in.Type, in.URI, in.Digest, what))
			}
		}
	}
	report(then.Inputs, again.Inputs, "by the original")
	report(again.Inputs, then.Inputs, "by the new model")
	return all
}

func compareMetrics(then, again map[string]float64) (all []Metric) {
	names := maps.Clone(then)
	if names == nil {
		names = map[string]float64{}
	}
	maps.Copy(names, again)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, Metric{name, value(then, name), value(again, name)})
	}
	return all
}

func value(of map[string]float64, name string) *float64 {
	if v, ok := of[name]; ok {
		return &v
	}
	return nil
}

// files returns the paths of files that are not the same in both, according to their manifests.
func files(ctx context.Context, store storage.Store, then, again string) ([]string, error) {
	sums := map[string]string{}
	for _, uri := range []string{then, again} {
		listing, err := listing(ctx, store, uri)
		if err != nil {
			return nil, err
		}
		for _, file := range listing.Files {
			if have, ok := sums[file.Path]; ok && have == file.SHA256 {
				delete(sums, file.Path)
			} else {
				sums[file.Path] = file.SHA256
			}
		}
	}
	return slices.Sorted(maps.Keys(sums)), nil
}

func listing(ctx context.Context, store storage.Store, uri string) (storage.Listing, error) {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return storage.Listing{}, err
	}
	return storage.List(ctx, store, ref)
}

// servingWeights is where TensorFlow keeps a SavedModel's variables.
var servingWeights = path.Join("Format-Serving", "variables")
