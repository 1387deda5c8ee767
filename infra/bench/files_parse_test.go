package main

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestWhatIsMeasuredIsParsedAlikeByBoth(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	dir := t.TempDir()
	err := withTensorFlow(t.Context(), 1, t.Output(), func(peer *tensorflow) error {
		for _, data := range parsedData() {
			in := parsing{File: filepath.Join(dir, data.name+".gz"), Gzip: true, Batch: parseBatch, Spec: parsedSpec(data.spec), spec: data.spec}
			if err := data.write(in.File, 600); err != nil {
				return err
			}
			took, err := in.rounds(t.Context(), peer, 2)
			if err != nil {
				return err
			}
			figures := took.costs("parse", cpuSecondsPerMillion, "> 2", tensorflowName)
			if len(figures) != 2 || figures[0].Rounds != 2 || *figures[0].Peer <= 0 || figures[1].Ours <= 0 {
				t.Errorf("%s: figures %+v", data.name, figures)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
