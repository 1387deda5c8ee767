package inspect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/storage"
)

// Model is a Model artifact: the same model in the requested formats.
type Model struct {
	Formats []Format `json:"formats"`
}

// Format is a model in one format.
type Format struct {
	// Format-Serving, or the directory that older versions of TFX used: export/.../<number>
	Name  string `json:"name"`
	Kind  Kind   `json:"kind,omitempty"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`

	SavedModel *SavedModel `json:"saved_model,omitempty"`
	TFLite     *TFLite     `json:"tflite,omitempty"`
	ONNX       *ONNX       `json:"onnx,omitempty"`
	Error      string      `json:"error,omitempty"` // why it can't be read
}

// Lineage describes how an artifact was made, according to its manifest.
type Lineage struct {
	Execution string             `json:"execution"`
	Attempt   string             `json:"attempt"`
	Type      string             `json:"type"`
	Digest    string             `json:"digest"`
	Module    string             `json:"module,omitempty"`
	BaseModel string             `json:"base_model,omitempty"`
	Started   time.Time          `json:"started,omitzero"`
	Finished  time.Time          `json:"finished,omitzero"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	Skew      *Skew              `json:"skew,omitempty"`
	Inputs    []events.Artifact  `json:"inputs,omitempty"`
}

// Skew is how the model's files compared with the trained model, before it was published.
type Skew events.Skew

func inspectModel(ctx context.Context, s *Source, o Options) (*Model, error) {
	m := &Model{}
	for _, folder := range s.formats() {
		part := s.below(folder)
		f := Format{Name: folder, Files: len(part.Files), Bytes: part.Bytes()}
		if err := f.look(ctx, part, o); err != nil {
			f.Error = err.Error()
		}
		m.Formats = append(m.Formats, f)
	}
	return m, nil
}

// formats returns the directories that contain one each: Format-<name>, and if there are none,
// those with a saved_model.pb.
func (s *Source) formats() (folders []string) {
	seen := map[string]bool{}
	add := func(folder string) {
		if !seen[folder] {
			seen[folder] = true
			folders = append(folders, folder)
		}
	}
	for _, f := range s.Files {
		top, _, below := strings.Cut(f.Path, "/")
		switch {
		case below && strings.HasPrefix(top, formatPrefix):
			add(top)
		case path.Base(f.Path) == savedModelFile && strings.HasPrefix(f.Path, "export/"):
			add(path.Dir(f.Path))
		}
	}
	return folders
}

func (f *Format) look(ctx context.Context, s *Source, o Options) (err error) {
	for _, file := range s.Files {
		if path.Base(file.Path) == savedModelFile { // an Estimator's is in export/<name>/<number>
			f.Kind = KindSavedModel
			f.SavedModel, err = inspectSavedModel(ctx, s.below(path.Dir(file.Path)), o)
			return err
		}
		kind, err := s.kindOfFile(ctx, file.Path)
		if err != nil {
			return err
		}
		one := *s
		one.Files = []File{file}
		switch kind {
		case KindTFLite:
			f.Kind = kind
			f.TFLite, err = inspectTFLite(ctx, &one, o)
			return err
		case KindONNX:
			f.Kind = kind
			f.ONNX, err = inspectONNX(ctx, &one, o)
			return err
		}
	}
	return fmt.Errorf("expected a SavedModel, a .tflite or an .onnx file")
}

// lineage reads the manifest of an artifact that Stoker made; nil for any other.
func lineage(ctx context.Context, s *Source) (*Lineage, error) {
	if s.store == nil {
		return nil, nil
	}
	place, ok := storage.PlaceOf(s.ref)
	if !ok {
		return nil, nil
	}
	manifest, err := storage.ReadManifest(ctx, s.store, place)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", s.Name, err)
	}
	l := &Lineage{Execution: manifest.Execution, Attempt: manifest.Attempt}
	if len(manifest.Result) > 0 {
		made, err := result.Of(manifest)
		if err != nil {
			return nil, fmt.Errorf("inspect %s: manifest: %w", s.Name, err)
		}
		l.Module, l.BaseModel, l.Started, l.Finished = made.Module, made.BaseModel, made.Started, made.Finished
		l.Metrics, l.Skew, l.Inputs = made.Metrics, (*Skew)(made.Skew), made.Inputs
	}
	for _, out := range manifest.Outputs {
		if strings.TrimSuffix(out.URI, "/") == strings.TrimSuffix(s.ref.String(), "/") {
			l.Type, l.Digest = out.Type, out.Digest
		}
	}
	return l, nil
}
