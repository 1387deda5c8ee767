package reproduce_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/reproduce"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// A model was made again, and its files are the same byte for byte.
func ExampleCompare() {
	then := &events.ModelTrained{Model: events.Model{URI: "s3://artifacts/penguin/model", Digest: "sha256:5f3a"}, Metrics: map[string]float64{"accuracy": 0.93}}
	again := &events.ModelTrained{Model: events.Model{URI: "s3://artifacts/penguin-reproduced/model", Digest: "sha256:5f3a"}, Metrics: map[string]float64{"accuracy": 0.93}}
	report, err := reproduce.Compare(context.Background(), storagetest.NewMemory(), then, again, reproduce.Options{})
	fmt.Println(report.Same, "-", report.How, err)
	// Output: true - equal files <nil>
}
