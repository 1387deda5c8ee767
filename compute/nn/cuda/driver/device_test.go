//go:build stoker_cuda

package driver_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/driver"
	"github.com/stoker-ml/stoker/compute/nn/plan/plantest"
)

// TestTheDevicePassesTheSuite needs a GPU, or a libcuda.so.1 that replaces one: `task test:cuda`
// provides that, `task test:gpu` does not.
func TestTheDevicePassesTheSuite(t *testing.T) {
	d, err := driver.Open()
	if err != nil {
		t.Fatal(err)
	}
	library, err := d.BLAS()
	t.Logf("device %s, cuBLAS %q %v", d.Name(), library, err)
	g, err := cuda.Open(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if used := g.Used(); used != 0 {
			t.Errorf("%d bytes are in use at the end", used)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	plantest.Suite(t, g.Machine)
}
