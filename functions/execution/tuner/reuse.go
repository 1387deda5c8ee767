package tuner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/drift"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/storage"
)

// TFX's types of the artifacts that describe the data.
const (
	typeSchema         = "Schema"
	typeTransformGraph = "TransformGraph"
	typeStatistics     = "ExampleStatistics"
)

// compared is the directory in which artifacts are staged for comparison, apart from the module's
// inputs.
const compared = "compared"

// Earlier returns the pipeline's last search if its tuner searches only now and then. The job pins
// which search was the last, so that every attempt finds the same. A job that asks for a new search
// gets one, as does one whose earlier result was lost. A result that others made is never reused.
func (t *Tuner) Earlier(e execution.Execution) string {
	if !e.Spec.Tuner.When.Reuses() || e.Job.Salt != "" || e.Job.Generation > 0 {
		return ""
	}
	return e.Job.Inputs.Hyperparameters
}

// Reusable reports whether no other search is due.
func (t *Tuner) Reusable(ctx context.Context, a *execution.Attempt, earlier result.Result) (bool, error) {
	because, err := searched{earlier}.due(ctx, a)
	if because != "" {
		a.Execution.Log.Info("searching for hyperparameters again", "because", because)
	}
	return because == "" && err == nil, err
}

// searched is the result of an earlier search.
type searched struct{ result.Result }

// due returns why another search is due, by the bus's clock; "" if none is.
func (s searched) due(ctx context.Context, a *execution.Attempt) (because string, err error) {
	e := a.Execution
	tuner := e.Spec.Tuner
	if every, timed := tuner.When.Every(); timed {
		if age := e.Job.Created.Sub(s.Finished); age >= every {
			return fmt.Sprintf("the last search is %s old", age), nil
		}
		return "", nil
	}
	if s.Module != e.Module {
		return "the module has changed", nil
	}
	now := execution.Artifacts(e.Inputs)
	if !slices.Equal(digestsOf(s.Inputs, typeSchema, typeTransformGraph), digestsOf(now, typeSchema, typeTransformGraph)) {
		shape, err := shapeOf(ctx, a)
		if err != nil {
			return "", err
		}
		if s.Shape == nil || shape == nil {
			return "the schema or the transform graph has changed and can't be compared", nil
		}
		if because := s.Shape.Differs(*shape); because != "" {
			return because, nil
		}
	}
	return s.drifted(ctx, a, now)
}

// drifted returns which feature's values are distributed too differently from those of the last
// search, if both runs have statistics.
func (s searched) drifted(ctx context.Context, a *execution.Attempt, now []events.Artifact) (because string, err error) {
	before, after := ofType(s.Inputs, typeStatistics), ofType(now, typeStatistics)
	if before == nil || after == nil || before.Digest == after.Digest {
		return "", nil
	}
	folders := map[string]*events.Artifact{"before": before, "after": after}
	for name, artifact := range folders {
		err := a.StageArtifact(ctx, *artifact, a.Workspace.Path(filepath.Join(compared, name)))
		if errors.Is(err, execution.ErrArtifactChanged) {
			return fmt.Sprintf("statistics can't be compared: %v", err), nil
		}
		if err != nil {
			return "", err
		}
	}
	distances, refused, err := distancesOf(ctx, a)
	if refused != "" || err != nil {
		return refused, err
	}
	for _, farthest := range distances {
		if allowed := a.Execution.Spec.Tuner.DriftAllowed(); farthest.Value > allowed {
			return fmt.Sprintf("the data has drifted, %s, more than %g (tuner.drift)", farthest, allowed), nil
		}
	}
	return "", nil
}

// distancesOf returns the distances between the staged statistics, one for each split, or why they
// can't be compared. A child process computes them within the limits of the job.
func distancesOf(ctx context.Context, a *execution.Attempt) (distances []drift.Distance, refused string, err error) {
	search := a.Execution.Spec.Search()
	q := modelcheck.Question{Drift: &modelcheck.Drift{
		Before: a.Workspace.Path(filepath.Join(compared, "before")), After: a.Workspace.Path(filepath.Join(compared, "after")), Splits: search.TrainArgs.Splits,
	}}
	answer, err := a.CheckFiles(ctx, q, search.Resources)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureUnavailable {
		return nil, "", err
	}
	if err == nil && answer.Refused != "" {
		err = errors.New(answer.Refused)
	}
	if err == nil && len(answer.Drift) != len(search.TrainArgs.Splits) {
		err = fmt.Errorf("%d answers for %d splits", len(answer.Drift), len(search.TrainArgs.Splits))
	}
	if err != nil {
		return nil, fmt.Sprintf("statistics can't be compared: %v", err), nil
	}
	return answer.Drift, "", nil
}

// shapeOf returns the shape of the schema and the transform graph of an attempt's job, which a
// child process reads within the limits of the job; nil if they can't be read, which the jobs that
// need them report.
func shapeOf(ctx context.Context, a *execution.Attempt) (*drift.Shape, error) {
	schema, graph := a.Workspace.Path(filepath.Join(compared, "schema")), a.Workspace.Path(filepath.Join(compared, "transform_graph"))
	artifacts := execution.Artifacts(a.Execution.Inputs)
	for dir, artifact := range map[string]*events.Artifact{schema: ofType(artifacts, typeSchema), graph: ofType(artifacts, typeTransformGraph)} {
		if artifact == nil {
			continue
		}
		if err := a.StageArtifact(ctx, *artifact, dir); errors.Is(err, execution.ErrArtifactChanged) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	q := modelcheck.Question{Shape: &modelcheck.Shape{Schema: schema, TransformGraph: graph}}
	answer, err := a.CheckFiles(ctx, q, a.Execution.Spec.Search().Resources)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureUnavailable {
		return nil, err
	}
	if err == nil && answer.Refused != "" {
		err = errors.New(answer.Refused)
	}
	if err != nil {
		a.Execution.Log.Warn("schema and transform graph can't be compared with those of later runs", "error", err)
		return nil, nil
	}
	return answer.Shape, nil
}

// ofType returns the first artifact of a type, nil if there is none.
func ofType(artifacts []events.Artifact, kind string) *events.Artifact {
	i := slices.IndexFunc(artifacts, func(in events.Artifact) bool { return in.Type == kind })
	if i < 0 {
		return nil
	}
	return &artifacts[i]
}

// digestsOf returns the digests of the artifacts of some types.
func digestsOf(inputs []events.Artifact, types ...string) (digests []string) {
	for _, in := range inputs {
		if slices.Contains(types, in.Type) {
			digests = append(digests, in.Type+" "+in.Digest)
		}
	}
	slices.Sort(digests)
	return digests
}

// learningFrom returns the job with the artifact that its search learns from as its only
// hyperparameters: the trials of one of Stoker's searches, or the values that others found. If the
// search learns from none, it has none: an earlier result that the job may reuse does not determine
// a search.
func learningFrom(job events.Job, search pipeline.Search) events.Job {
	from := ""
	if search.Study != nil {
		from = search.Study.From
	}
	if search.Study.LearnsFromLast() {
		from = job.Inputs.Hyperparameters
	}
	if ref, err := storage.ParseRef(from); err == nil {
		if place, ours := storage.PlaceOf(ref); ours {
			from = place.Output(resultsKey).String()
		}
	}
	job.Inputs.Hyperparameters = from
	return job
}

// learn gives a study what its search is to learn from: those trials of an older one that lie in
// its space, or the best values of others as a point to try first.
func learn(a *execution.Attempt, c *tune.Config) error {
	from := learningFrom(a.Job, a.Execution.Spec.Search()).Inputs.Hyperparameters
	if from == "" {
		return nil // there is nothing to learn from, or nothing yet
	}
	studies := search.OneStudy
	if a.Execution.Spec.Search().Study.From == pipeline.FromAll {
		studies = search.AllStudies
	}
	if err := search.Learn(a.Workspace.In(execution.Hyperparameters), studies, c); err != nil {
		return execution.InputFailure(fmt.Errorf("tuner.study.from: %s: %w", from, err))
	}
	return nil
}
