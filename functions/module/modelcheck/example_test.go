package modelcheck_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// The model that TFX's Trainer wrote may have only the usual operations, and must be servable. A
// fault of the files is in the answer, not an error.
func ExampleDo() {
	const model = "../../../compute/tf/savedmodel/testdata/penguin/model"
	answer, err := modelcheck.Do(context.Background(), modelcheck.Question{
		Graphs: []modelcheck.Graph{{Dir: model, Name: "base_model"}}, Model: &modelcheck.Model{Dir: model},
	})
	fmt.Printf("refused: %q, error: %v\n", answer.Refused, err)

	answer, err = modelcheck.Do(context.Background(), modelcheck.Question{Model: &modelcheck.Model{Dir: "testdata/no/such/model"}})
	fmt.Println("refused:", answer.Refused != "", "error:", err)
	// Output:
	// refused: "", error: <nil>
	// refused: true error: <nil>
}

func ExampleIsSavedModel() {
	fmt.Println(modelcheck.IsSavedModel("../../../compute/tf/savedmodel/testdata/penguin/model"))
	fmt.Println(modelcheck.IsSavedModel("../../../compute/tf/savedmodel/testdata"))
	// Output:
	// true
	// false
}
