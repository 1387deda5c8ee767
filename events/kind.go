package events

// Kind says what a fact tells. Its CloudEvents type is "dev.stoker." + Kind + ".v1".
type Kind string

// The facts that Stoker reads and writes.
const (
	KindExamplesReady  Kind = "examples.ready"
	KindTransformReady Kind = "transform.ready"
	KindHParamsReady   Kind = "hparams.ready"
	KindModelTrained   Kind = "model.trained"
	KindTrainingFailed Kind = "training.failed"
	KindTuningFailed   Kind = "tuning.failed"
)

// Kinds lists every kind, inputs first.
func Kinds() []Kind {
	return []Kind{KindExamplesReady, KindTransformReady, KindHParamsReady, KindModelTrained, KindTrainingFailed, KindTuningFailed}
}
