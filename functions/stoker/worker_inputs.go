package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// inputsEnv names the places, separated by commas, that a worker reads besides --root.
const inputsEnv = "STOKER_INPUTS"

// withinInputs keeps a worker's hands off what lies elsewhere, whatever address a fact or a pipeline brings. Without inputsEnv the store's
// own policy alone decides.
func withinInputs(store storage.Store, root storage.Ref) (storage.Store, error) {
	text := os.Getenv(inputsEnv)
	if text == "" {
		return store, nil
	}
	places := []storage.Ref{root}
	for place := range strings.SplitSeq(text, ",") {
		ref, err := storage.ParseRef(strings.TrimSpace(place))
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("%s: %w", inputsEnv, err))
		}
		places = append(places, ref)
	}
	return storage.Within(store, places...), nil
}
