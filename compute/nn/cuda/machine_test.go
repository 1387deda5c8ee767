package cuda_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/fake"
	"github.com/stoker-ml/stoker/compute/nn/plan"
	"github.com/stoker-ml/stoker/compute/nn/plan/plantest"
)

func TestMachinesPassTheSuite(t *testing.T) {
	t.Parallel()
	t.Run("with products of ours", func(t *testing.T) {
		t.Parallel()
		plantest.Suite(t, openDevice(t, &fake.Device{}))
	})
	t.Run("with the device's products", func(t *testing.T) {
		t.Parallel()
		plantest.Suite(t, openDevice(t, &fake.Device{Multiplies: true}))
	})
}

// openDevice makes machines on a device, which must have no allocations afterwards.
func openDevice(t *testing.T, d cuda.Device) func(*plan.Plan) (plan.Machine, error) {
	t.Helper()
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
	return g.Machine
}
