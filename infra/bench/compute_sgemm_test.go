package main

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestProductsAreComparedWithOpenBLASAndThePeak(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	peak, err := peakOf(kernel.CurrentLevel())
	if err != nil {
		t.Fatal(err)
	}
	err = withTensorFlow(t.Context(), 1, t.Output(), func(peer *tensorflow) error {
		figures, err := product{64, 64, 64, 2000}.rounds(t.Context(), peer, "BLAS", peak, 2)
		if err != nil {
			return err
		}
		for _, f := range figures {
			if f.Rounds != 2 || f.Ours <= 0 {
				t.Errorf("figure %+v", f)
			}
		}
		// A product above the peak would show that the loop is none, or that not all was computed:
		// with a margin for clocks that change.
		if ofPeak := figures[2]; ofPeak.Name != "sgemm-64x64x64-of-peak" || ofPeak.Ours > 1.5 {
			t.Errorf("figure %+v", ofPeak)
		}
		return nil
	}, "OPENBLAS_NUM_THREADS=1")
	if err != nil {
		t.Fatal(err)
	}
}
