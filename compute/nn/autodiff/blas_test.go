package autodiff_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/kernel"
	_ "github.com/stoker-ml/stoker/compute/nn"
)

func TestGorgoniaMultipliesByKernels(t *testing.T) {
	t.Parallel()
	if _, ok := gorgonia.WhichBLAS().(kernel.BLAS); !ok {
		t.Errorf("Gorgonia's BLAS is %T", gorgonia.WhichBLAS())
	}
}
