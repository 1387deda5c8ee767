package tensorbundle

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Entry is a tensor to write under a key: Value, of any element type, or a result of Bundle.Copy
// from another bundle.
type Entry struct {
	Key   string
	Value tensor.Tensor

	stored *stored
}

func (e Entry) dtype() typepb.DataType {
	if e.stored != nil {
		return e.stored.entry.GetDtype()
	}
	return e.Value.DType()
}

func (e Entry) shape() *shapepb.TensorShapeProto {
	if e.stored != nil {
		return e.stored.entry.GetShape()
	}
	return tensor.ShapeProto(e.Value.Shape()...)
}

// stored is a value in the form of another bundle.
type stored struct {
	entry *corepb.BundleEntryProto
	data  []byte
}

// Copy reads a variable of any type as an Entry for another bundle, under the key as. Its checksum
// is kept. It returns an error for a variable in slices.
func (b *Bundle) Copy(key, as string) (Entry, error) {
	entry, err := b.find(key)
	if err != nil {
		return Entry{}, err
	}
	if len(entry.GetSlices()) > 0 {
		return Entry{}, b.failure(key, errors.New("lies in slices, which aren't copied"))
	}
	data, err := b.read(entry)
	if err != nil {
		return Entry{}, b.failure(key, err)
	}
	return Entry{Key: as, stored: &stored{entry, data}}, nil
}

// Write writes <prefix>.data-00000-of-00001, then <prefix>.index, which lists every tensor in it.
// Keys must differ; the order of values doesn't matter.
func Write(prefix string, values []Entry) error {
	values = slices.SortedFunc(slices.Values(values), func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	entries, err := writeData(dataFile(prefix, 0, 1), values)
	if err != nil {
		return fmt.Errorf("write variables: %w", err)
	}
	index, err := encodeIndex(values, entries)
	if err != nil {
		return err
	}
	return os.WriteFile(prefix+".index", index, 0o644)
}

func dataFile(prefix string, shard, shards int32) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", prefix, shard, shards)
}

// writeData writes the values one after another and returns where each is.
func writeData(name string, values []Entry) (entries []*corepb.BundleEntryProto, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	w := bufio.NewWriter(file)
	var offset int64
	for _, v := range values {
		entry, err := v.writeTo(w)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Key, err)
		}
		entry.Dtype, entry.Shape, entry.Offset = v.dtype(), v.shape(), offset
		entries = append(entries, entry)
		offset += entry.GetSize()
	}
	return entries, w.Flush()
}

// writeTo writes the value; the entry it returns has its size and checksum.
func (e Entry) writeTo(w io.Writer) (*corepb.BundleEntryProto, error) {
	if e.stored != nil {
		_, err := w.Write(e.stored.data)
		return &corepb.BundleEntryProto{Size: int64(len(e.stored.data)), Crc32C: e.stored.entry.GetCrc32C()}, err
	}
	if texts, ok := tensor.Values[string](e.Value); ok {
		return writeStrings(w, texts)
	}
	var crc tfrecord.CRC
	var size int64
	for part := range tensor.Bytes(e.Value) {
		crc = crc.Update(part)
		size += int64(len(part))
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	return &corepb.BundleEntryProto{Size: size, Crc32C: crc.Masked()}, nil
}

// writeStrings writes all lengths as varints, the masked checksum of the lengths as uint32s, and
// all bytes. The entry's checksum is over the lengths as uint32s, that checksum and the bytes.
func writeStrings(w io.Writer, texts []string) (*corepb.BundleEntryProto, error) {
	var lengths, data []byte
	for _, text := range texts {
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(text)))
		data = binary.AppendUvarint(data, uint64(len(text)))
	}
	sum := binary.LittleEndian.AppendUint32(nil, tfrecord.Checksum(lengths))
	data = append(data, sum...)
	first := len(data)
	for _, text := range texts {
		data = append(data, text...)
	}
	_, err := w.Write(data)
	return &corepb.BundleEntryProto{Size: int64(len(data)), Crc32C: tfrecord.Checksum(lengths, sum, data[first:])}, err
}

// encodeIndex encodes the index: under "" the header, under each key the position of its tensor.
func encodeIndex(values []Entry, entries []*corepb.BundleEntryProto) ([]byte, error) {
	header, err := marshal(&corepb.BundleHeaderProto{NumShards: 1, Version: &versionpb.VersionDef{Producer: 1}})
	if err != nil {
		return nil, err
	}
	rows := []tableEntry{{"", header}}
	for i, entry := range entries {
		encoded, err := marshal(entry)
		if err != nil {
			return nil, err
		}
		rows = append(rows, tableEntry{values[i].Key, encoded})
	}
	return encodeTable(rows), nil
}

// marshal encodes a message so that equal messages have equal bytes.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}
