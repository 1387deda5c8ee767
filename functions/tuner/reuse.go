package tuner

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// reuse is the pipeline's last search, where its tuner makes another only now and then and this is not the time; nil if the job is to
// search. Which one was the last is pinned in the job, so that every attempt finds the same. Who asks for a search anew gets one, as
// does who lost what was found before; and what others found is never known to be still good.
func (t *Tuner) reuse(ctx context.Context, e execution.Execution) (*execution.Result, error) {
	job, when := e.Job, e.Spec.Tuner.When
	if !when.Reuses() || job.Inputs.Hyperparameters == "" || job.Salt != "" || job.Generation > 0 {
		return nil, nil
	}
	return t.shop.Earlier(ctx, e, job.Inputs.Hyperparameters, func(last execution.Result) bool {
		var told story
		return json.Unmarshal(last.Manifest.Result, &told) == nil && told.stillGood(when, e, job.Created)
	})
}

// stillGood says whether no other search is due at a time, by the bus's clock.
func (s story) stillGood(when pipeline.When, e execution.Execution, now time.Time) bool {
	if every, timed := when.Every(); timed {
		return now.Sub(s.Finished) < every
	}
	return s.Module == e.Module && slices.Equal(shapeOf(s.Inputs), shapeOf(execution.Artifacts(e.Inputs)))
}

// shapeOf are the digests of what says which features there are: the schema and the transform graph.
func shapeOf(inputs []events.Artifact) (digests []string) {
	for _, in := range inputs {
		if in.Type == "Schema" || in.Type == "TransformGraph" {
			digests = append(digests, in.Type+" "+in.Digest)
		}
	}
	slices.Sort(digests)
	return digests
}
