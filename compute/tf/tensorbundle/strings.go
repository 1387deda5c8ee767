package tensorbundle

import (
	"encoding/binary"
	"errors"
	"fmt"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// ObjectGraphKey is the key of a checkpoint's tree of objects.
const ObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH"

// Strings reads a variable of type string, row major.
func (b *Bundle) Strings(key string) ([][]byte, error) {
	entry, err := b.find(key)
	if err != nil {
		return nil, err
	}
	values, err := b.strings(entry)
	if err != nil {
		return nil, b.failure(key, err)
	}
	return values, nil
}

func (b *Bundle) strings(entry *corepb.BundleEntryProto) ([][]byte, error) {
	switch {
	case entry.GetDtype() != typepb.DataType_DT_STRING:
		return nil, fmt.Errorf("type is %v, want DT_STRING", entry.GetDtype())
	case len(entry.GetSlices()) > 0:
		return nil, errors.New("strings in slices aren't read")
	}
	n, err := elements(entry.GetShape())
	if err != nil {
		return nil, err
	}
	data, err := b.read(entry)
	if err != nil {
		return nil, err
	}
	return decodeStrings(data, n, entry.GetCrc32C())
}

// decodeStrings reads n strings: all lengths as varints, the masked checksum of the lengths, all
// bytes.
func decodeStrings(data []byte, n int64, want uint32) ([][]byte, error) {
	if n > int64(len(data)) {
		return nil, fmt.Errorf("%d strings in %d bytes", n, len(data))
	}
	sizes := make([]uint64, n)
	var lengths []byte // as the checksum wants them
	for i := range sizes {
		size, used := binary.Uvarint(data)
		if used <= 0 || size > uint64(len(data)) {
			return nil, fmt.Errorf("string %d: bad length", i)
		}
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(size))
		sizes[i], data = size, data[used:]
	}
	if len(data) < 4 {
		return nil, errors.New("no checksum of lengths")
	}
	sum, body := data[:4], data[4:]
	if binary.LittleEndian.Uint32(sum) != tfrecord.Checksum(lengths) {
		return nil, errors.New("checksum of lengths is wrong")
	}
	if got := tfrecord.Checksum(lengths, sum, body); got != want {
		return nil, fmt.Errorf("checksum is %08x, data have %08x", want, got)
	}
	values := make([][]byte, n)
	for i, size := range sizes {
		if size > uint64(len(body)) {
			return nil, fmt.Errorf("string %d: bad length", i)
		}
		values[i], body = body[:size:size], body[size:]
	}
	return values, nil
}

// Objects reads the tree of objects of a TensorFlow 2 checkpoint, which leads from an object's
// place in the program to the key of its value.
func (b *Bundle) Objects() (*corepb.TrackableObjectGraph, error) {
	values, err := b.Strings(ObjectGraphKey)
	if err != nil {
		return nil, err
	}
	if len(values) != 1 {
		return nil, b.failure(ObjectGraphKey, fmt.Errorf("%d strings, want one", len(values)))
	}
	graph := new(corepb.TrackableObjectGraph)
	if err := proto.Unmarshal(values[0], graph); err != nil {
		return nil, b.failure(ObjectGraphKey, err)
	}
	return graph, nil
}
