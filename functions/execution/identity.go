package execution

import (
	"github.com/stoker-ml/stoker/events"
)

// InputID is one input by what it holds, not by where it lies: a part of identities.
type InputID struct {
	Key    string `json:"key"`
	Split  string `json:"split,omitempty"`
	Digest string `json:"digest"`
}

// ByContent knows each input by what it holds. A base model and hyperparameters of Stoker's own are known by their
// execution, so that what was lost and made again is still the same.
func ByContent(inputs []Input) []InputID {
	all := make([]InputID, len(inputs))
	for i, in := range inputs {
		all[i] = InputID{Key: in.Key, Split: in.Split, Digest: in.Listing.Digest}
		if in.remade() && in.Listing.Execution != "" {
			all[i].Digest = in.Listing.Execution
		}
	}
	return all
}

// UnusualPayload is a payload format other than tf.Example, which all are known by that have none in their identity.
func UnusualPayload(job events.Job) string {
	if payload := Payload(job); payload != events.PayloadExample {
		return payload
	}
	return ""
}

// Payload is the format of the examples' records.
func Payload(job events.Job) string {
	_, examples := examplesOf(job.Inputs)
	return examples[0].Payload()
}

// Transformed says whether the job's examples went through its transform graph already.
func Transformed(job events.Job) bool { return len(job.Inputs.TransformedExamples) > 0 }
