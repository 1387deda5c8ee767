package transform

import "github.com/stoker-ml/stoker/compute/tf/graph"

// feature is a raw or a transformed feature, as the function's signature has it.
type feature struct{ graph.Spec }
