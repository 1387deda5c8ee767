package drift_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/drift"
)

// The statistics that TFX's StatisticsGen wrote for two splits are compared.
func ExampleStatistics_Farthest() {
	const statistics = "../../data/example/testdata/statistics/"
	train, err := drift.ReadStatistics(statistics + "Split-train/FeatureStats.pb")
	if err != nil {
		fmt.Println(err)
		return
	}
	eval, err := drift.ReadStatistics(statistics + "Split-eval/FeatureStats.pb")
	if err != nil {
		fmt.Println(err)
		return
	}
	farthest := train.Farthest(eval)
	fmt.Println(farthest)
	fmt.Println("more than 0.1:", farthest.Value > 0.1)
	// Output:
	// feature "fare": Jensen-Shannon divergence is 0.117
	// more than 0.1: true
}

// A search whose data had another schema is not reused.
func ExampleShape_Differs() {
	searched := drift.Shape{Schema: "5f3a", TransformGraph: "77d0"}
	fmt.Println(searched.Differs(drift.Shape{Schema: "9b1e", TransformGraph: "77d0"}))
	// Output: the schema has other features, types or shapes
}
