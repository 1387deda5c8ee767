package pipeline_test

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/infra/compat"
)

// PIPELINES keeps every revision, and a join keeps the revision with which it was completed.
func TestPipelinesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "pipeline", Of: pipeline.Pipeline{}, Again: func(text []byte) ([]byte, error) {
		p, err := pipeline.FromJSON(text)
		if err != nil {
			return nil, err
		}
		return p.JSON()
	}}.Check(t)
}

// The origin of a pipeline is a member of its entry in PIPELINES.
func TestOriginsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "origin", Of: pipeline.Origin{}, Again: func(text []byte) ([]byte, error) {
		var o pipeline.Origin
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, err
		}
		return json.Marshal(o)
	}}.Check(t)
}
