package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Kind of event.
func (*ExamplesReady) Kind() Kind  { return KindExamplesReady }
func (*TransformReady) Kind() Kind { return KindTransformReady }
func (*HParamsReady) Kind() Kind   { return KindHParamsReady }
func (*ModelTrained) Kind() Kind   { return KindModelTrained }
func (*ModelBlessed) Kind() Kind   { return KindModelBlessed }
func (*TrainingFailed) Kind() Kind { return KindTrainingFailed }
func (*TuningFailed) Kind() Kind   { return KindTuningFailed }

// Validate implements Data.
func (d *ExamplesReady) Validate() error {
	if len(d.Examples) == 0 {
		return invalid("examples", "at least one Examples artifact", "")
	}
	return first(
		checkExamples("examples", d.Examples),
		optionalURI("schema", d.Schema),
		optionalURI("statistics", d.Statistics),
		d.Request.validate(),
	)
}

// Validate implements Data.
func (d *TransformReady) Validate() error {
	return first(
		CheckURI("transform_graph", d.TransformGraph),
		checkExamples("transformed_examples", d.TransformedExamples),
		checkExamples("examples", d.Examples),
		optionalURI("schema", d.Schema),
		optionalURI("statistics", d.Statistics),
		d.Request.validate(),
	)
}

// Validate implements Data.
func (d *HParamsReady) Validate() error {
	if d.Score != nil {
		if err := checkFinite("score", *d.Score); err != nil {
			return err
		}
	}
	return first(
		CheckURI("hyperparameters", d.Hyperparameters),
		checkValues("values", d.Values),
		optionalDigest("execution", d.Execution),
		checkCount("generation", int64(d.Generation)),
		optionalText("salt", d.Salt, maxID),
		d.Request.validate(),
	)
}

// Validate implements Data.
func (d *ModelTrained) Validate() error {
	return first(
		below("model", d.Model.validate()),
		optionalURI("model_run", d.ModelRun),
		optionalURI("eval_model", d.EvalModel),
		checkDigest("execution", d.Execution),
		checkCount("generation", int64(d.Generation)),
		optionalText("salt", d.Salt, maxID),
		checkMetrics("metrics", d.Metrics),
		checkArtifacts("inputs", d.Inputs),
		checkValues("hyperparameters", d.Hyperparameters),
		checkText("module", d.Module, maxSource),
		optionalURI("base_model", d.BaseModel),
		below("skew", d.Skew.validate()),
		checkCount("attempts", int64(d.Attempts)),
	)
}

// Validate implements Data.
func (d *ModelBlessed) Validate() error {
	if d.Blessed == nil {
		return invalid("blessed", "true or false", "")
	}
	return first(CheckURI("model", d.Model), optionalURI("blessing", d.Blessing))
}

// Validate implements Data.
func (d *Failed) Validate() error {
	if d.Message == "" {
		return invalid("message", "what went wrong", "")
	}
	return first(
		checkFailureKind("kind", d.Reason),
		optionalURI("log", d.Log),
		checkCount("attempt", int64(d.Attempt)),
		optionalDigest("execution", d.Execution),
	)
}

func (s Request) validate() error {
	if len(s.PipelineSpec) == 0 || bytes.Equal(s.PipelineSpec, []byte("null")) {
		return nil
	}
	return checkObject("pipeline_spec", s.PipelineSpec)
}

func (m Model) validate() error {
	if len(m.Formats) == 0 {
		return invalid("formats", "at least one, such as Format-Serving", "")
	}
	return first(
		CheckURI("uri", m.URI),
		checkDigest("digest", m.Digest),
		checkFolders("formats", m.Formats),
	)
}

func (s *Skew) validate() error {
	if s == nil {
		return nil
	}
	return first(
		checkCount("rows", int64(s.Rows)),
		checkCount("asked", int64(s.Asked)),
		checkFinite("max_abs", s.MaxAbs),
		checkFinite("tolerance", s.Tolerance),
	)
}

// checkFolders wants names that can stand in the name of a folder.
func checkFolders(field string, names []string) error {
	for i, name := range names {
		if !splitRE.MatchString(name) {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "a name of letters, digits, _, . and -", name)
		}
	}
	return nil
}

func checkArtifacts(field string, list []Artifact) error {
	if list == nil {
		return invalid(field, "the artifacts that were read", "")
	}
	for i, artifact := range list {
		err := first(
			checkText("type", artifact.Type, maxName),
			CheckURI("uri", artifact.URI),
			checkDigest("digest", artifact.Digest),
		)
		if err != nil {
			return below(fmt.Sprintf("%s[%d]", field, i), err)
		}
	}
	return nil
}

func checkMetrics(field string, metrics map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if err := checkFinite(field+"."+name, metrics[name]); err != nil {
			return err
		}
	}
	return nil
}

// checkValues wants what JSON can hold; a Go program may have put anything there.
func checkValues(field string, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, err := json.Marshal(values[name]); err != nil {
			return invalid(field+"."+name, "a value that JSON can hold", fmt.Sprint(values[name]))
		}
	}
	return nil
}

func checkObject(field string, raw json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return invalid(field, "a JSON object", string(raw))
	}
	return nil
}
