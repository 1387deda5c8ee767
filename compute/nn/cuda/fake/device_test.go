package fake_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/fake"
)

// bench is a device with 10 numbers at a, and 10 at b that are not written.
type bench struct {
	*fake.Device
	a, b cuda.Pointer
}

func newBench(t *testing.T) bench {
	t.Helper()
	d := bench{Device: &fake.Device{}}
	var text strings.Builder
	for _, k := range cuda.Kernels() {
		text.WriteString(".visible .entry " + k.Name + "(")
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(d.Load(text.String(), cuda.Kernels()))
	var err error
	d.a, err = d.Alloc(40)
	check(err)
	d.b, err = d.Alloc(40)
	check(err)
	check(d.Upload(d.a, make([]byte, 40)))
	return d
}

// copies launches the kernel that copies n numbers.
func (d bench) copies(to, from cuda.Pointer, n uint64) *cuda.Launch {
	return &cuda.Launch{Kernel: cuda.Copy, Grid: cuda.Dim{X: 1, Y: 1, Z: 1}, Block: cuda.Dim{X: 256, Y: 1, Z: 1}, Args: []cuda.Arg{
		{Kind: cuda.PointerParam, Bits: uint64(to)}, {Kind: cuda.PointerParam, Bits: uint64(from)},
		{Kind: cuda.IntParam, Bits: n}, {Kind: cuda.IntParam},
	}}
}

func TestTheFakeSeesWhatAGPUWouldNotSay(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(d bench) error
		says string
	}{
		"beyond the end":           {func(d bench) error { return d.Launch(d.copies(d.b, d.a, 11)) }, "beyond their block"},
		"no address":               {func(d bench) error { return d.Launch(d.copies(d.b, 64, 10)) }, "is no address"},
		"unaligned":                {func(d bench) error { return d.Launch(d.copies(d.b, d.a+2, 5)) }, "not aligned"},
		"a read of nothing":        {func(d bench) error { return d.Launch(d.copies(d.a, d.b, 10)) }, "nobody has written"},
		"a read of what was freed": {func(d bench) error { _ = d.Free(d.a); return d.Launch(d.copies(d.b, d.a, 10)) }, "after it was freed"},
		"freed twice":              {func(d bench) error { _ = d.Free(d.a); return d.Free(d.a) }, "freed twice"},
		"freed in its middle":      {func(d bench) error { return d.Free(d.a + 4) }, "never allocated"},
		"over what others read":    {func(d bench) error { return d.Launch(d.copies(d.a+4, d.a, 9)) }, "while"},
		"too few arguments": {func(d bench) error {
			l := d.copies(d.b, d.a, 10)
			l.Args = l.Args[:3]
			return d.Launch(l)
		}, "3 arguments for 4 parameters"},
		"an argument of another kind": {func(d bench) error {
			l := d.copies(d.b, d.a, 10)
			l.Args[2].Kind = cuda.FloatParam
			return d.Launch(l)
		}, "argument 2 is of kind f, expected i"},
		"too few threads": {func(d bench) error {
			l := d.copies(d.b, d.a, 10)
			l.Block.X = 8
			return d.Launch(l)
		}, "launched with blocks and threads"},
		"no such kernel": {func(d bench) error {
			l := d.copies(d.b, d.a, 10)
			l.Kernel = 1000
			return d.Launch(l)
		}, "is not loaded"},
		"memory that changes while it is copied": {func(d bench) error {
			here := make([]byte, 40)
			_ = d.Upload(d.b, here)
			here[3] = 1
			return d.Sync()
		}, "changed before their upload"},
		"leaks": {func(d bench) error { return d.Close() }, "2 blocks of its memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test.do(newBench(t)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the fake said %v, expected %q", err, test.says)
			}
		})
	}
	t.Run("and lets pass what is right", func(t *testing.T) {
		t.Parallel()
		d := newBench(t)
		for _, err := range []error{d.Launch(d.copies(d.b, d.a, 10)), d.Sync(), d.Free(d.a), d.Free(d.b), d.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTheFakeKnowsEveryKernel(t *testing.T) {
	t.Parallel()
	if err := new(fake.Device).Load("nothing", cuda.Kernels()); err == nil {
		t.Error("a module without kernels was loaded")
	}
}
