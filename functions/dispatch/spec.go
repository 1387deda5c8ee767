package dispatch

import "github.com/stoker-ml/stoker/events"

// refuseInline refuses a fact that brings a pipeline of its own: it would run code that its publisher chose. A pipeline is
// deployed by those who may, with Apply.
func refuseInline(data events.Data) error {
	if len(events.RequestOf(data).PipelineSpec) == 0 {
		return nil
	}
	invalid := &events.Invalid{Field: "data.pipeline_spec", Expected: "none: this bus takes only pipelines that were applied", Got: "a pipeline"}
	return events.Fail(events.FailureInput, invalid)
}
