package inspect_test

import (
	"context"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/functions/admin/inspect"
)

func Example() {
	source, err := inspect.Local("testdata/tuner_results")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := inspect.Inspect(context.Background(), source, inspect.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	report.Print(os.Stdout)
	// Output:
	// path  testdata/tuner_results
	// kind  tuner results
	// size  517 bytes in 1 file
	//
	// 6 trials, the best first
	// TRIAL  SCORE                learning_rate  num_layers
	// 0      0.8999999761581421   0.01           1
	// 5      0.8999999761581421   0.01           3
	// 1      0.7799999713897705   0.01           2
	// 2      0.5                  0.001          3
	// 4      0.4399999976158142   0.001          1
	// 3      0.23999999463558197  0.001          2
}
