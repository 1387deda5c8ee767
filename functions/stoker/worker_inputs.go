package main

import (
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// withinInputs keeps a worker's hands off what lies elsewhere than in root and in the places that the settings name, whatever address a
// fact or a pipeline brings. Where they name none, the store's own policy alone decides.
func (a *app) withinInputs(store storage.Store, root storage.Ref) (storage.Store, error) {
	places, err := a.inputs()
	if err != nil || len(places) == 0 {
		return store, err
	}
	return storage.Within(store, append([]storage.Ref{root}, places...)...), nil
}

// inputs are the places that the settings name, separated by commas.
func (a *app) inputs() (places []storage.Ref, err error) {
	found, err := a.settings()
	if err != nil {
		return nil, err
	}
	named := found.Value(settings.Inputs)
	for place := range strings.SplitSeq(named.Text, ",") {
		if place = strings.TrimSpace(place); place == "" {
			continue
		}
		ref, err := storage.ParseRef(place)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("inputs (%s): %w", named.From, err))
		}
		places = append(places, ref)
	}
	return places, nil
}
