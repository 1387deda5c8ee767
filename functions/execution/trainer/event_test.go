package trainer

import (
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

func TestEvalModelIsNamedWhereThereIsOne(t *testing.T) {
	t.Parallel()
	model := storage.Output{URI: "s3://models/penguin/a1", Files: []storage.File{{Path: "Format-Serving/saved_model.pb"}}}
	if got := evalModel(model); got != "" {
		t.Errorf("eval model of a model without one: %q", got)
	}
	model.Files = append(model.Files, storage.File{Path: "Format-TFMA/saved_model.pb"})
	if got, want := evalModel(model), "s3://models/penguin/a1/Format-TFMA"; got != want {
		t.Errorf("eval model is %q, want %q", got, want)
	}
}
