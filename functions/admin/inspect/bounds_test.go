package inspect

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// A path of many steps is assembled at once, not step by step.
func TestAPathOfManyStepsIsReadInNoTime(t *testing.T) {
	t.Parallel()
	var steps []byte
	for range 1_000_000 {
		steps = protowire.AppendBytes(protowire.AppendTag(steps, 1, protowire.BytesType), []byte("s"))
	}
	feature := protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), steps)
	set := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), feature)
	list := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), set)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := parseStatistics(list)
	if err != nil || len(s.Features) != 1 || !strings.HasPrefix(s.Features[0].Name, "s.s.s") {
		t.Fatalf("%d features, error %v", len(s.Features), err)
	}
	runtime.ReadMemStats(&after)
	// Step by step it would be a terabyte.
	if made := after.TotalAlloc - before.TotalAlloc; made > 10<<30 {
		t.Errorf("it took %d bytes of memory, one after another", made)
	}
}

// The name of a feature in a struct contains those of all structs around it: nested thousands deep,
// a small file would fill the memory.
func TestTheDepthOfStructsIsBounded(t *testing.T) {
	t.Parallel()
	opened := `feature { name: "n" type: STRUCT struct_domain { `
	for depth, want := range map[int]string{10: "", 4000: "nested more than"} {
		text := strings.Repeat(opened, depth) + strings.Repeat("} } ", depth)
		s, err := parseSchema("schema.pbtxt", []byte(text))
		if want == "" && (err != nil || len(s.Features) != depth) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d structs: %v", depth, err)
		}
	}
}

// A compressed file may have much larger records than it has bytes.
func TestFirstFeaturesDecodeLittle(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	value := &examplepb.Feature{Kind: &examplepb.Feature_Int64List{Int64List: &examplepb.Int64List{Value: make([]int64, limit/2)}}}
	record, err := proto.Marshal(&examplepb.Example{Features: &examplepb.Features{Feature: map[string]*examplepb.Feature{"a": value}}})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	out := tfrecord.NewGzipWriter(&file)
	for range 20 {
		err = errors.Join(err, out.Append(record))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	features, records, err := FirstFeatures("a.gz", &file, limit)
	if err != nil || records != 2 || len(features) != 1 {
		t.Errorf("%d records, %+v, %v", records, features, err)
	}
}
