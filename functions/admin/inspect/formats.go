package inspect

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/export/tflite"
)

// TFLite is the metadata of a .tflite file.
type TFLite struct {
	File string `json:"file"`
	tflite.Description
}

// ONNX is the metadata of an .onnx file.
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

// copyOf returns the path of the source's first file on this machine.
func (s *Source) copyOf(ctx context.Context, o Options) (string, error) {
	name := s.Files[0].Path
	dir, err := s.local(ctx, o.Limit, name)
	return filepath.Join(dir, filepath.FromSlash(name)), err
}

// Checkpoint is one or more of TensorFlow's checkpoints in a directory.
type Checkpoint struct {
	Latest string            `json:"latest,omitempty"` // according to the file "checkpoint"
	Saved  []SavedCheckpoint `json:"saved"`
}

// SavedCheckpoint is one checkpoint.
type SavedCheckpoint struct {
	Name      string     `json:"name"` // the prefix of its files
	Variables []Variable `json:"variables"`
	Weights   int64      `json:"weights"`
}

func inspectCheckpoint(ctx context.Context, s *Source, o Options) (*Checkpoint, error) {
	c := &Checkpoint{}
	for _, f := range s.Files {
		name, ok := strings.CutSuffix(f.Path, ".index")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		dir, err := s.local(ctx, o.Limit, f.Path)
		if err != nil {
			return nil, err
		}
		one := SavedCheckpoint{Name: name}
		if one.Variables, one.Weights, err = variables(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		c.Saved = append(c.Saved, one)
	}
	if _, ok := s.find("checkpoint"); ok {
		text, err := s.read(ctx, "checkpoint", 1<<20)
		if err != nil {
			return nil, err
		}
		c.Latest = latest(string(text))
	}
	return c, nil
}

// latest reads model_checkpoint_path of a CheckpointState in text form.
func latest(text string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "model_checkpoint_path:"); ok {
			return path.Base(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return ""
}
