package tensorbundle_test

import (
	"fmt"
	"log"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// A checkpoint of TensorFlow 1 has its variables by name, partitioned ones too.
func Example() {
	b, err := tensorbundle.Open("testdata/partitioned/model.ckpt")
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range b.Variables() {
		values, exact, err := b.Numbers(v.Key)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Key, v.DType, v.Shape, len(values), exact)
	}
	// Output:
	// dnn/hiddenlayer_0/bias DT_FLOAT [4] 4 true
	// dnn/hiddenlayer_0/bias/Adagrad DT_FLOAT [4] 4 true
	// dnn/hiddenlayer_0/kernel DT_FLOAT [7 4] 28 true
	// dnn/hiddenlayer_0/kernel/Adagrad DT_FLOAT [7 4] 28 true
	// global_step DT_INT64 [] 1 true
}
