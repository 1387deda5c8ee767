package savedmodel_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// The penguin model that TFX's Trainer wrote, executed without TensorFlow.
func ExampleOpen() {
	model, err := savedmodel.Open("testdata/penguin/model")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range model.Signatures() {
		fmt.Println(s.Name, "takes", s.Inputs[0].Name, s.Inputs[0].DType)
	}
	var b example.Builder
	row := b.Float("body_mass_g", 0.25).Float("culmen_depth_mm", 0.6).Float("culmen_length_mm", 0.3).Float("flipper_length_mm", 0.2).Build()
	examples, err := tensor.New([]int{1}, []string{string(row)})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := model.Run("serving_default", map[string]tensor.Tensor{"examples": examples})
	if err != nil {
		fmt.Println(err)
		return
	}
	logits, _ := tensor.Values[float32](answer["outputs"])
	fmt.Printf("%.3f\n", logits)
	// Output:
	// serving_default takes examples DT_STRING
	// transform_features takes examples DT_STRING
	// [2.463 -0.465 -3.396]
}
