package cuda_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/fake"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// embedding is a plan that looks ids up in a table of 5 rows, and sums what it finds.
func embedding() *plan.Plan {
	table := make([]float32, 10)
	for i := range table {
		table[i] = 1
	}
	return &plan.Plan{
		Floats: 7, Ints: 3, Loss: 3, Inputs: map[string]int{"ids": 0}, Outputs: map[string]int{},
		Buffers: []plan.Buffer{
			{Name: "ids", Kind: plan.Int, Rows: 3, Cols: 1},
			{Name: "table", Home: plan.Bound, Rows: 5, Cols: 2, Data: table, Param: true},
			{Name: "found", Rows: 3, Cols: 2},
			{Name: "loss", At: 6, Rows: 1, Cols: 1},
		},
		Code: []plan.Instr{
			{Op: plan.Gather, Out: 2, In: []int{1, 0}, Node: "embedding"},
			{Op: plan.Reduce, Out: 3, In: []int{2}, Node: "sum"},
		},
	}
}

func TestAnIDOutsideOfItsTableIsAnErrorAndTheNextStepGoesOn(t *testing.T) {
	t.Parallel()
	m, err := openDevice(t, &fake.Device{})(embedding())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	for _, bad := range []int{5, -1, math.MaxInt} {
		m.Ints(0)[1] = bad
		if _, err := m.Step(0); err == nil || !strings.Contains(err.Error(), "embedding: id ") || !strings.Contains(err.Error(), "place 1, is not in a table of 5 rows") {
			t.Errorf("id %d: %v", bad, err)
		}
		m.Ints(0)[1] = 4
		if loss, err := m.Step(1); err != nil || loss != 6 {
			t.Errorf("after id %d: loss %g, %v", bad, loss, err)
		}
	}
}

func TestAJobsMemoryHasALimit(t *testing.T) {
	t.Parallel()
	d := &fake.Device{}
	g, err := cuda.Open(d, 2200)
	if err != nil {
		t.Fatal(err)
	}
	first, err := g.Machine(embedding())
	if err != nil {
		t.Fatal(err)
	}
	used := g.Used()
	_, err = g.Machine(embedding())
	tooMuch, ok := errors.AsType[*cuda.MemoryError](err)
	if !ok || tooMuch.Limit != 2200 || tooMuch.Need < 1 || !strings.Contains(err.Error(), "the limit is 2.1 KiB (STOKER_GPU_MEMORY)") {
		t.Errorf("the second machine: %v", err)
	}
	if g.Used() != used {
		t.Errorf("%d bytes are in use after a machine that was refused, %d before", g.Used(), used)
	}
	if err := errors.Join(first.Close(), g.Close()); err != nil {
		t.Error(err)
	}
}

func TestADeviceWithoutMemoryIsAClearErrorAndNothingStaysReserved(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		d := &fake.Device{Bytes: 1 << 20, FailOnAlloc: n}
		g, err := cuda.Open(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Machine(embedding())
		if !errors.Is(err, fake.ErrMemory) || !strings.Contains(err.Error(), "the device has") {
			t.Errorf("allocation %d failed: %v", n, err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("allocation %d failed: %v", n, err)
		}
	}
}

func TestADeviceThatFailsBreaksTheMachine(t *testing.T) {
	t.Parallel()
	d := &fake.Device{}
	m, err := openDevice(t, d)(embedding())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	d.FailLaunch = errors.New("an illegal address")
	if _, err := m.Step(0); !errors.Is(err, d.FailLaunch) || !strings.Contains(err.Error(), "GPU fake GPU: instruction 0 (embedding)") {
		t.Errorf("the step: %v", err)
	}
	for name, err := range map[string]error{"sync": m.Sync(), "push": m.Push(), "clip": m.Clip(plan.Clip{Value: 1}), "update": m.Update(nil)} {
		if !errors.Is(err, d.FailLaunch) {
			t.Errorf("%s of a broken machine: %v", name, err)
		}
	}
}

func TestMemoryLimitsAreReadWithUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"": 0, "4096": 4096, "2KiB": 2048, "8GiB": 8 << 30, "3 MiB": 3 << 20} {
		if got, err := cuda.MemoryLimit(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, expected %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "8GB", "lots", "99999999TiB"} {
		if got, err := cuda.MemoryLimit(text); err == nil {
			t.Errorf("%q is %d, expected an error", text, got)
		}
	}
}
