package graph_test

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Bounds of one execution of FuzzExecute.
const (
	fuzzBytes = 16 << 20
	fuzzTime  = time.Second

	// fuzzFactor is how many times the limit an execution may allocate: released memory is
	// collected later, and messages of protocol buffers are larger in memory.
	fuzzFactor = 6
)

// FuzzExecute opens, compiles and runs any bytes as a SavedModel within limits: the outcome is a
// result or an error. No kernel fails on its inputs, an execution ends soon after its time, and
// what lives in memory stays below a few times the limit.
func FuzzExecute(f *testing.F) {
	for _, name := range []string{"everything", "bag_of_words", "ragged_reduced", "tables_in_the_graph", "shapes", "old_everything"} {
		archive, err := zip.OpenReader(filepath.Join("..", "transform", "testdata", "graphs", name+".zip"))
		if err != nil {
			f.Fatal(err)
		}
		data, err := fs.ReadFile(archive, "transform_fn/saved_model.pb")
		if err != nil {
			f.Fatal(err)
		}
		archive.Close()
		f.Add(data)
	}
	data, err := os.ReadFile(filepath.Join("..", "savedmodel", "testdata", "penguin", "model", "saved_model.pb"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(nestedLoops(f, 1<<20))
	bomb := &graphOf{}
	last := bomb.node("start", "Fill", nil, bomb.node("dims", "Pack", map[string]any{"N": 1}, bomb.dependent("n", 1<<20)), bomb.float("one", 1))
	axis := bomb.int("axis", 0)
	for i := range 3 {
		last = bomb.node("double"+string(rune('a'+i)), "ConcatV2", map[string]any{"N": 2}, last, last, axis)
	}
	f.Add(bomb.model(f, last+":0", float32Type))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		peak := watchMemory(t)
		late := time.AfterFunc(20*fuzzTime, func() { // so that the input is kept
			debug.SetTraceback("all")
			panic("the execution doesn't end")
		})
		err := execute(dir, data)
		late.Stop()
		if held, bound := peak(), int64(fuzzFactor*fuzzBytes+64*len(data)); held > bound {
			t.Errorf("%d bytes of a model held %d MiB, at most %d are expected", len(data), held>>20, bound>>20)
		}
		if errors.Is(err, ops.ErrKernel) {
			t.Error(err)
		}
	})
}

// watchMemory measures the live memory, above that of now, until the returned function is called,
// which returns the maximum. A collection begins as soon as the limit is passed, so that garbage
// isn't taken for what lives.
func watchMemory(t *testing.T) (most func() int64) {
	t.Helper()
	before := liveBytes()
	restore := debug.SetMemoryLimit(before + fuzzBytes)
	var peak atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			peak.Store(max(peak.Load(), liveBytes()-before))
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(done)
		<-ended
		debug.SetMemoryLimit(restore)
		return peak.Load()
	}
}

// liveBytes returns the memory of objects, dead ones too that no collection has found.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64))
}

// execute runs all signatures, and the function of a transform graph, on strings, or as many
// tensors of no elements.
func execute(dir string, data []byte) error {
	m, err := graph.Parse(dir, data)
	if err != nil {
		return err
	}
	m.CheckOps(graph.Policy{})
	ctx, end := context.WithTimeout(context.Background(), 5*fuzzTime)
	defer end()
	limits := graph.Limits{Bytes: fuzzBytes, Steps: 1 << 18, Time: fuzzTime}
	s, err := m.Start(ctx, limits)
	if err != nil {
		return err
	}
	var faults []error
	signatures, err := m.Signatures()
	faults = append(faults, err)
	for _, signature := range signatures[:min(len(signatures), 4)] {
		p, err := s.Compile(ctx, signature, "output")
		if err == nil {
			err = feedAndRun(ctx, p, signature.Inputs)
		}
		faults = append(faults, err)
	}
	if trace, err := m.Trace("transform_fn"); err == nil {
		p, err := s.CompileTrace(ctx, trace, "output")
		if err == nil {
			err = feedAndRun(ctx, p, trace.Inputs)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// feedAndRun feeds two rows to what is dense.
func feedAndRun(ctx context.Context, p *graph.Program, inputs []graph.Spec) error {
	f := p.Frame()
	defer f.Release()
	at := 0
	for _, in := range inputs {
		for _, dtype := range in.Types() {
			f.Args[at] = fed(dtype, in)
			at++
		}
	}
	if err := f.Run(ctx); err != nil {
		return err
	}
	f.Copy(0)
	return nil
}

func fed(dtype tensor.DType, in graph.Spec) ops.Value {
	dims := []int{2}
	for _, d := range in.Shape[min(1, len(in.Shape)):] {
		dims = append(dims, min(max(d, 1), 3))
	}
	if in.Shape != nil && len(in.Shape) == 0 {
		dims = nil
	}
	n := tensor.Count(dims)
	if n > 1<<10 || len(dims) > 10 || in.Layout != graph.Dense {
		dims, n = []int{0}, 0
	}
	switch dtype {
	case tensor.String:
		return &tensor.Array[string]{Dims: dims, Data: repeat("x1", n)}
	case tensor.Int64:
		return &tensor.Array[int64]{Dims: dims, Data: repeat[int64](1, n)}
	case tensor.Int32:
		return &tensor.Array[int32]{Dims: dims, Data: repeat[int32](1, n)}
	case tensor.Float64:
		return &tensor.Array[float64]{Dims: dims, Data: repeat(0.5, n)}
	case tensor.Bool:
		return &tensor.Array[bool]{Dims: dims, Data: repeat(true, n)}
	}
	return &tensor.Array[float32]{Dims: dims, Data: repeat[float32](0.5, n)}
}

func repeat[T any](v T, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = v
	}
	return list
}
