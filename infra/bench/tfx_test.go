package main

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner"
)

func TestAForkedModuleIsTimed(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	b := bench{rounds: 1, log: t.Output()}
	figures, err := b.figuresOf(t.Context(), tfxPart().groups[1])
	if err != nil {
		t.Fatal(err)
	}
	if len(figures) != 5 || figures[0].Name != "tfx-"+runner.WarmFork+"-job-to-run-fn-p50" {
		t.Errorf("figures %+v", figures)
	}
	for _, f := range figures {
		if f.Ours <= 0 {
			t.Errorf("%s: %v %s", f.Name, f.Ours, f.Unit)
		}
	}
}
