package export

import (
	"context"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// Model is a trained model, and what its files need to know of its features.
type Model struct {
	savedmodel.Model

	// Samples gives some rows as the graph takes them, by input: 200 of the training data, as a
	// rule. It is called by the formats that need to see what passes through the model, and may be
	// nil if none of those is asked for.
	Samples func(ctx context.Context) (map[string]nn.Value, error)
}

// Targets says where a model goes. Each folder must not exist or be empty; "" leaves a file out.
type Targets struct {
	Serving string   // the SavedModel: .../Format-Serving
	Eval    string   // the model that TensorFlow Model Analysis reads: .../Format-TFMA
	Formats []string // by name, as Formats has them; each goes into its own folder next to Serving
}
