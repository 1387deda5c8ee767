package result

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/infra/compat"
	"github.com/stoker-ml/stoker/storage"
)

// The result in a manifest is what a cache hit announces, for as long as the artifacts are kept.
func TestResultsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "result", Of: Result{}, Again: func(text []byte) ([]byte, error) {
		read, err := Of(storage.Manifest{Result: text})
		if err != nil {
			return nil, err
		}
		return json.Marshal(read)
	}}.Check(t)
}
