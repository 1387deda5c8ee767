package inspect

import (
	"context"
	"path"
	"path/filepath"
	"strings"
)

// Checkpoint is one or more of TensorFlow's checkpoints in a folder.
type Checkpoint struct {
	Latest string            `json:"latest,omitempty"` // as the file "checkpoint" has it
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
