package storage

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/infra/compat"
)

// Documents stay in a store for as long as their artifacts do.
func TestDocumentsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	for _, format := range []compat.Format{
		{Name: "commit", Of: Commit{}, Again: again[Commit]},
		{Name: "manifest", Of: Manifest{}, Again: again[Manifest]},
		{Name: "checkpoint", Of: pointer{}, Again: again[pointer]},
	} {
		t.Run(format.Name, func(t *testing.T) { t.Parallel(); format.Check(t) })
	}
}

func again[T any](text []byte) ([]byte, error) {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
