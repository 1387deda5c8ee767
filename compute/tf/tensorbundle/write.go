package tensorbundle

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Tensor is one tensor on its way into a TensorBundle: floats, one string, or what Copy took from another bundle.
type Tensor struct {
	Key    string
	Shape  []int     // of Floats
	Floats []float32 // row major
	Text   []byte    // of a scalar string; Floats is nil

	stored *stored
}

func (t Tensor) dtype() typepb.DataType {
	switch {
	case t.stored != nil:
		return t.stored.entry.GetDtype()
	case t.Text != nil:
		return typepb.DataType_DT_STRING
	}
	return typepb.DataType_DT_FLOAT
}

func (t Tensor) shape() *shapepb.TensorShapeProto {
	if t.stored != nil {
		return t.stored.entry.GetShape()
	}
	return shapeProto(t.Shape)
}

// Write writes <prefix>.data-00000-of-00001, then <prefix>.index, which names every tensor in it. Keys must differ; the order of
// tensors doesn't matter.
func Write(prefix string, tensors []Tensor) error {
	tensors = slices.SortedFunc(slices.Values(tensors), func(a, b Tensor) int { return cmp.Compare(a.Key, b.Key) })
	entries, err := writeData(dataFile(prefix, 0, 1), tensors)
	if err != nil {
		return fmt.Errorf("write variables: %w", err)
	}
	index, err := encodeIndex(tensors, entries)
	if err != nil {
		return err
	}
	return os.WriteFile(prefix+".index", index, 0o644)
}

func dataFile(prefix string, shard, shards int32) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", prefix, shard, shards)
}

// writeData writes the values, one after another, and says where each lies.
func writeData(name string, tensors []Tensor) (entries []*corepb.BundleEntryProto, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	w := bufio.NewWriter(file)
	var offset int64
	for _, t := range tensors {
		entry, err := t.writeTo(w)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", t.Key, err)
		}
		entry.Dtype, entry.Shape, entry.Offset = t.dtype(), t.shape(), offset
		entries = append(entries, entry)
		offset += entry.GetSize()
	}
	return entries, w.Flush()
}

// writeTo writes the value; the entry it returns has its size and checksum.
func (t Tensor) writeTo(w io.Writer) (*corepb.BundleEntryProto, error) {
	if t.stored != nil {
		_, err := w.Write(t.stored.data)
		return &corepb.BundleEntryProto{Size: int64(len(t.stored.data)), Crc32C: t.stored.entry.GetCrc32C()}, err
	}
	if t.Text != nil {
		return writeString(w, t.Text)
	}
	var crc tfrecord.CRC
	var chunk []byte
	for part := range slices.Chunk(t.Floats, 4096) {
		chunk = chunk[:0]
		for _, v := range part {
			chunk = binary.LittleEndian.AppendUint32(chunk, math.Float32bits(v))
		}
		crc = crc.Update(chunk)
		if _, err := w.Write(chunk); err != nil {
			return nil, err
		}
	}
	return &corepb.BundleEntryProto{Size: 4 * int64(len(t.Floats)), Crc32C: crc.Masked()}, nil
}

// writeString writes one string: its length as a varint, the masked checksum of the length as uint32, the bytes. The entry's
// checksum runs over the length as uint32, that checksum and the bytes.
func writeString(w io.Writer, text []byte) (*corepb.BundleEntryProto, error) {
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	sum := binary.LittleEndian.AppendUint32(nil, tfrecord.Checksum(length))
	data := append(binary.AppendUvarint(nil, uint64(len(text))), sum...)
	data = append(data, text...)
	_, err := w.Write(data)
	return &corepb.BundleEntryProto{Size: int64(len(data)), Crc32C: tfrecord.Checksum(length, sum, text)}, err
}

// encodeIndex makes the table: under "" the header, under each key where its tensor lies.
func encodeIndex(tensors []Tensor, entries []*corepb.BundleEntryProto) ([]byte, error) {
	header, err := marshal(&corepb.BundleHeaderProto{NumShards: 1, Version: &versionpb.VersionDef{Producer: 1}})
	if err != nil {
		return nil, err
	}
	rows := []tableEntry{{"", header}}
	for i, entry := range entries {
		value, err := marshal(entry)
		if err != nil {
			return nil, err
		}
		rows = append(rows, tableEntry{tensors[i].Key, value})
	}
	return encodeTable(rows), nil
}

// shapeProto is a shape as an entry holds it.
func shapeProto(dims []int) *shapepb.TensorShapeProto {
	shape := &shapepb.TensorShapeProto{}
	for _, d := range dims {
		shape.Dim = append(shape.Dim, &shapepb.TensorShapeProto_Dim{Size: int64(d)})
	}
	return shape
}

// marshal encodes a message so that equal messages have equal bytes.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}
