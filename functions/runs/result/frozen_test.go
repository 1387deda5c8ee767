package result

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/infra/compat"
	"github.com/stoker-ml/stoker/storage"
)

// A cache hit announces the result in a manifest, for as long as the artifacts are kept.
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
