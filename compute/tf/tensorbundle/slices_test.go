package tensorbundle

import (
	"path/filepath"
	"slices"
	"testing"

	slicepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_slice_go_proto"
)

// partitioned was saved by TensorFlow: dnn/hiddenlayer_0/kernel [7,4] in slices of 3, 2 and 2 rows.
func partitioned(t *testing.T) *Bundle {
	t.Helper()
	b, err := Open(filepath.Join("testdata", "partitioned", "model.ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestASlicedVariableIsListedOnce(t *testing.T) {
	t.Parallel()
	b := partitioned(t)
	var names []string
	for _, v := range b.Variables() {
		names = append(names, v.Key)
	}
	const layer = "dnn/hiddenlayer_0/"
	want := []string{layer + "bias", layer + "bias/Adagrad", layer + "kernel", layer + "kernel/Adagrad", "global_step"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if err := b.readAll(); err != nil {
		t.Error(err)
	}
}

func rows(start, length int64) *slicepb.TensorSliceProto {
	return &slicepb.TensorSliceProto{Extent: []*slicepb.TensorSliceProto_Extent{
		{Start: start, HasLength: &slicepb.TensorSliceProto_Extent_Length{Length: length}}, {},
	}}
}

func TestSlicesThatAreNotTheWholeAreRefused(t *testing.T) {
	t.Parallel()
	const kernel = "dnn/hiddenlayer_0/kernel"
	for text, list := range map[string][]*slicepb.TensorSliceProto{
		"its slices are not all of it":         {rows(0, 3), rows(3, 2)},
		"slices 0 and 1 overlap":               {rows(0, 4), rows(3, 4)},
		"5 elements at 3 of axis 0, which has": {rows(3, 5)},
		"slice 0: no such slice":               {rows(0, 7)},
		"has 1 axes of 2":                      {{Extent: rows(0, 7).Extent[:1]}},
		"4097 slices":                          slices.Repeat([]*slicepb.TensorSliceProto{rows(0, 0)}, maxSlices+1),
	} {
		b := partitioned(t)
		b.entries[kernel].Slices = list
		_, _, err := b.Numbers(kernel)
		wantError(t, err, text)
	}
}

func TestSlicesThatShareBytesAreRefused(t *testing.T) {
	t.Parallel()
	const kernel = "dnn/hiddenlayer_0/kernel"
	b := partitioned(t)
	list := b.entries[kernel].GetSlices()
	b.entries[sliceKey(kernel, list[2])].Offset = b.entries[sliceKey(kernel, list[1])].GetOffset()
	_, _, err := b.Numbers(kernel)
	wantError(t, err, "two slices have the same bytes, at 80")
}
