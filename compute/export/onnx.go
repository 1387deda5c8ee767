package export

import (
	"context"

	"github.com/stoker-ml/stoker/compute/export/onnx"
)

// onnxFormat is the file that ONNX Runtime and its kin run.
func onnxFormat(name, file string) Format {
	return Format{
		Name: name, Folder: "Format-ONNX", File: file, holds: onnx.Holds, check: checkONNX,
		write: func(_ context.Context, path string, p Part) error { return onnx.Write(path, p.Graph, p.Inputs) },
	}
}

func checkONNX(path string) error {
	_, err := onnx.Describe(path)
	return err
}
