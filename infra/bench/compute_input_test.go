package main

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestMixedFeaturesAreParsedAlikeByBoth(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	data := mixed()
	if len(data.spec) != 20 || data.spec.Validate() != nil {
		t.Fatalf("%d features, %v", len(data.spec), data.spec.Validate())
	}
	err := withTensorFlow(t.Context(), 2, t.Output(), func(peer *tensorflow) error {
		p := parsing{File: filepath.Join(t.TempDir(), "mixed.gz"), Gzip: true, Batch: parseBatch, Spec: parsedSpec(data.spec), spec: data.spec}
		if err := data.write(p.File, 600); err != nil {
			return err
		}
		in := inputs{parsing: p, theirs: map[string][]cost{}}
		if err := in.rounds(t.Context(), peer, 2); err != nil {
			return err
		}
		for _, mode := range inputModes {
			if c := in.theirs[mode]; len(c) != 2 || c[0].Examples != 600 || c[0].CPU <= 0 {
				t.Errorf("%s: costs %+v", mode, c)
			}
		}
		if figures := in.figures("input", ""); len(figures) != 4 || figures[0].Rounds != 2 || *figures[0].Ratio <= 0 {
			t.Errorf("figures %+v", figures)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
