package inspect

import (
	"context"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/export/tflite"
)

// TFLite is what a .tflite file says of itself.
type TFLite struct {
	File string `json:"file"`
	tflite.Description
}

// ONNX is what an .onnx file says of itself.
type ONNX struct {
	File string `json:"file"`
	onnx.Description
}

func inspectTFLite(ctx context.Context, s *Source, o Options) (*TFLite, error) {
	name, err := s.copyOf(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := tflite.Describe(name)
	return &TFLite{s.Files[0].Path, d}, err
}

func inspectONNX(ctx context.Context, s *Source, o Options) (*ONNX, error) {
	name, err := s.copyOf(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := onnx.Describe(name)
	return &ONNX{s.Files[0].Path, d}, err
}

// copyOf is the path of the source's first file on this machine.
func (s *Source) copyOf(ctx context.Context, o Options) (string, error) {
	name := s.Files[0].Path
	dir, err := s.local(ctx, o.Limit, name)
	return filepath.Join(dir, filepath.FromSlash(name)), err
}
