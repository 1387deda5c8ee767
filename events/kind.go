package events

import (
	"slices"
	"strings"
)

// Kind says what has happened. Its CloudEvents type is "dev.stoker." + Kind + ".v1".
type Kind string

// The events that Stoker reads and writes.
const (
	KindExamplesReady  Kind = "examples.ready"
	KindTransformReady Kind = "transform.ready"
	KindHParamsReady   Kind = "hparams.ready"
	KindModelTrained   Kind = "model.trained"
	KindModelBlessed   Kind = "model.blessed"
	KindTrainingFailed Kind = "training.failed"
	KindTuningFailed   Kind = "tuning.failed"
)

// Kinds lists every kind, inputs first.
func Kinds() []Kind {
	return []Kind{KindExamplesReady, KindTransformReady, KindHParamsReady, KindModelBlessed, KindModelTrained, KindTrainingFailed, KindTuningFailed}
}

const (
	typePrefix = "dev.stoker."
	typeSuffix = ".v1"
)

// Type is the CloudEvents type of the kind: dev.stoker.examples.ready.v1.
func (k Kind) Type() string { return typePrefix + string(k) + typeSuffix }

// KindOf is the inverse of Type. A type that is none of Stoker's is an *Invalid.
func KindOf(cloudEventsType string) (Kind, error) {
	name, ours := strings.CutPrefix(cloudEventsType, typePrefix)
	name, known := strings.CutSuffix(name, typeSuffix)
	if kind := Kind(name); ours && known && slices.Contains(Kinds(), kind) {
		return kind, nil
	}
	return "", invalid("type", "one of "+typeList(), cloudEventsType)
}

func typeList() string {
	var types []string
	for _, kind := range Kinds() {
		types = append(types, kind.Type())
	}
	return strings.Join(types, ", ")
}

// newData returns an empty value of the data type of the kind.
func newData(kind Kind) Data {
	switch kind {
	case KindExamplesReady:
		return &ExamplesReady{}
	case KindTransformReady:
		return &TransformReady{}
	case KindHParamsReady:
		return &HParamsReady{}
	case KindModelBlessed:
		return &ModelBlessed{}
	case KindModelTrained:
		return &ModelTrained{}
	case KindTrainingFailed:
		return &TrainingFailed{}
	case KindTuningFailed:
		return &TuningFailed{}
	}
	return nil
}
