package main

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestTransformedRowsAreThoseOfTensorFlow(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	err := withTensorFlow(t.Context(), 1, t.Output(), func(peer *tensorflow) error {
		for _, name := range []string{"penguin", "taxi"} {
			in, err := newTransforming(name)
			if err != nil {
				return err
			}
			in.Passes = 2
			took, err := in.rounds(t.Context(), peer, 1)
			if err != nil || len(took[oursName]) != 1 || took[oursName][0] <= 0 || took[peerName][0] <= 0 {
				t.Errorf("%s: %+v, %v", name, took, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
