package trainer

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/infra/frozen"
)

// The result in a manifest is what a cache hit tells, for as long as the artifacts are kept.
func TestResultsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	frozen.Format{Name: "result", Of: story{}, Again: func(text []byte) ([]byte, error) {
		var told story
		if err := json.Unmarshal(text, &told); err != nil {
			return nil, err
		}
		return json.Marshal(told)
	}}.Check(t)
}
