package export

import (
	"context"
	"encoding/json"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

// tfliteFormat is one of the files that TensorFlow Lite runs. They have the same inputs and
// outputs; what differs is how numbers are kept inside.
func tfliteFormat(name, file string, q tflite.Quantization) Format {
	return Format{
		Name: name, Folder: "Format-TFLite", File: file, holds: tflite.Holds, check: checkTFLite,
		write: func(ctx context.Context, path string, p Part) error { return writeTFLite(ctx, path, p, q) },
	}
}

func checkTFLite(path string) error {
	_, err := tflite.Describe(path)
	return err
}

func writeTFLite(ctx context.Context, path string, p Part, q tflite.Quantization) error {
	notes, err := json.Marshal(map[string]any{"inputs": p.Inputs})
	if err != nil {
		return err
	}
	var samples map[string]nn.Value
	if q == tflite.Int8 {
		if samples, err = p.Samples(ctx); err != nil {
			return err
		}
	}
	return tflite.Write(path, p.Graph, tflite.Options{Quantization: q, Samples: samples, Notes: notes})
}
