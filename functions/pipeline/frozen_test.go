package pipeline_test

import (
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
