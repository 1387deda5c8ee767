package skew_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/skew"
)

// The model that TFX's Trainer wrote of the penguins transforms raw rows as Transform had
// transformed them.
func ExampleCheck() {
	report, err := skew.Check(context.Background(), skew.Question{
		Model: "../savedmodel/testdata/penguin/model",
		Raw:   []string{"../../data/example/testdata/penguin/examples/Split-eval/*"}, Transformed: []string{"../../data/example/testdata/penguin/transformed_examples/Split-eval/*"},
		Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Rows, "rows, largest difference", report.MaxAbs, "differences", len(report.Differences))
	// Output:
	// 100 rows, largest difference 0 differences 0
}
