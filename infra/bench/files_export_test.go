package main

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestTheModelThatIsExportedIsTensorFlowsToo(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	err := withTensorFlow(t.Context(), 1, t.Output(), func(peer *tensorflow) error {
		figures, err := bench{rounds: 2}.export(t.Context(), peer, t.TempDir())
		if err == nil && (len(figures) != 1 || figures[0].Rounds != 2 || *figures[0].Peer <= 0 || figures[0].Ours <= 0) {
			t.Errorf("figures %+v", figures)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
