package inspect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tfevents"
)

// Options say how much to read.
type Options struct {
	Rows  int    // number of records of each split of Examples to show
	Split string // the only split to read; "": all
	Limit int64  // bytes of an artifact to read, or to copy from a store, at most; 0: no limit
}

// Report describes an artifact: the part that every kind has, and one of the fields below, which
// Kind names. An Estimator's directory is a model and also has events.
type Report struct {
	Kind  Kind   `json:"kind"`
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`

	Examples        *Examples        `json:"examples,omitempty"`
	Schema          *Schema          `json:"schema,omitempty"`
	Statistics      []Statistics     `json:"statistics,omitempty"`
	TransformGraph  *TransformGraph  `json:"transform_graph,omitempty"`
	SavedModel      *SavedModel      `json:"saved_model,omitempty"`
	Model           *Model           `json:"model,omitempty"`
	Checkpoint      *Checkpoint      `json:"checkpoint,omitempty"`
	TFLite          *TFLite          `json:"tflite,omitempty"`
	ONNX            *ONNX            `json:"onnx,omitempty"`
	Hyperparameters *Hyperparameters `json:"hyperparameters,omitempty"`
	TunerResults    *TunerResults    `json:"tuner_results,omitempty"`
	Events          *Events          `json:"events,omitempty"`
	Folder          []Part           `json:"folder,omitempty"`

	Lineage *Lineage `json:"lineage,omitempty"` // of an artifact that Stoker made
}

// Part is one artifact in a directory of several.
type Part struct {
	Path  string `json:"path"`
	Kind  Kind   `json:"kind,omitempty"` // "": its names don't identify it
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Inspect identifies a source. An error names the file, and what was expected of it. For Examples
// with damaged files it returns both: what could be read, and an error that names the splits.
func Inspect(ctx context.Context, s *Source, o Options) (*Report, error) {
	r := &Report{Path: s.Name, Files: len(s.Files), Bytes: s.Bytes()}
	var err error
	if s.single {
		r.Kind, err = s.kindOfFile(ctx, s.Files[0].Path)
	} else if r.Kind = s.kindOfFolder(); r.Kind == "" {
		r.Kind, err = s.kindByFiles(ctx)
	}
	if err == nil && r.Kind == "" {
		err = s.unknown(ctx)
	}
	if err == nil {
		err = r.look(ctx, s, o)
	}
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", s.Name, err)
	}
	if r.Lineage, err = lineage(ctx, s); err != nil {
		return nil, err
	}
	if r.Examples != nil {
		if err := r.Examples.damage(); err != nil {
			return r, fmt.Errorf("inspect %s: %w", s.Name, err)
		}
	}
	return r, nil
}

// kindByFiles examines the files of a directory whose names identify nothing: it is Examples if it
// has records, and a directory of artifacts if it has any.
func (s *Source) kindByFiles(ctx context.Context) (Kind, error) {
	parts, err := s.parts(ctx)
	switch {
	case err != nil || len(parts) == 0:
		return "", err
	case slices.ContainsFunc(parts, func(p Part) bool { return p.Kind != KindExamples || strings.Contains(p.Path, "/") }):
		return KindFolder, nil
	}
	return KindExamples, nil
}

// maxLooked is how many files of a directory are examined.
const maxLooked = 100

// parts returns the artifacts in a directory: its files and directories, and if a directory isn't
// recognized, those in it, and so on.
func (s *Source) parts(ctx context.Context) (parts []Part, err error) {
	var last string
	for i, f := range s.Files {
		folder, _, below := strings.Cut(f.Path, "/")
		if !below && i < maxLooked {
			kind, err := s.kindOfFile(ctx, f.Path)
			if err != nil {
				return nil, err
			}
			if kind != "" {
				parts = append(parts, Part{f.Path, kind, 1, f.Bytes})
			}
		}
		if !below || folder == last {
			continue
		}
		last = folder
		part := s.below(folder)
		if kind := part.kindOfFolder(); kind != "" {
			parts = append(parts, Part{folder, kind, len(part.Files), part.Bytes()})
			continue
		}
		more, err := part.parts(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			p.Path = path.Join(folder, p.Path)
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// look fills the field of the report that its kind names.
func (r *Report) look(ctx context.Context, s *Source, o Options) (err error) {
	switch r.Kind {
	case KindExamples:
		r.Examples, err = inspectExamples(ctx, s, o)
	case KindSchema:
		r.Schema, err = inspectSchema(ctx, s)
	case KindStatistics:
		r.Statistics, err = inspectStatistics(ctx, s)
	case KindTransformGraph:
		r.TransformGraph, err = inspectTransformGraph(ctx, s, o)
	case KindSavedModel:
		r.SavedModel, err = inspectSavedModel(ctx, s, o)
	case KindModel:
		if r.Model, err = inspectModel(ctx, s, o); err == nil && s.has(tfevents.IsEventFile) {
			r.Events, err = inspectEvents(ctx, s, o)
		}
	case KindCheckpoint:
		r.Checkpoint, err = inspectCheckpoint(ctx, s, o)
	case KindTFLite:
		r.TFLite, err = inspectTFLite(ctx, s, o)
	case KindONNX:
		r.ONNX, err = inspectONNX(ctx, s, o)
	case KindHyperparameters:
		r.Hyperparameters, err = inspectHyperparameters(ctx, s)
	case KindTunerResults:
		r.TunerResults, err = inspectTunerResults(ctx, s)
	case KindEvents:
		r.Events, err = inspectEvents(ctx, s, o)
	case KindFolder:
		r.Folder, err = s.parts(ctx)
	}
	return err
}
