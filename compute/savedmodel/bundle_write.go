package savedmodel

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// bundleTensor is one tensor on its way into a TensorBundle, already in the bundle's own bytes.
type bundleTensor struct {
	key   string
	dtype typepb.DataType
	shape []int
	data  []byte
	crc   uint32 // masked; for strings it isn't that of data
}

func floatTensor(key string, shape []int, values []float32) bundleTensor {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return bundleTensor{key: key, dtype: typepb.DataType_DT_FLOAT, shape: shape, data: data, crc: maskedCRC(data)}
}

// stringTensor holds one string: its length as a varint, the masked checksum of the length as uint32, the bytes. The
// entry's checksum runs over the length as uint32, that checksum and the bytes.
func stringTensor(key string, value []byte) bundleTensor {
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(value)))
	sum := binary.LittleEndian.AppendUint32(nil, maskedCRC(length))
	data := append(binary.AppendUvarint(nil, uint64(len(value))), sum...)
	return bundleTensor{key: key, dtype: typepb.DataType_DT_STRING, data: append(data, value...), crc: maskedCRC(length, sum, value)}
}

// writeBundle writes <prefix>.data-00000-of-00001, then <prefix>.index, which names every tensor in it.
func writeBundle(prefix string, tensors []bundleTensor) error {
	slices.SortFunc(tensors, func(a, b bundleTensor) int { return cmp.Compare(a.key, b.key) })
	entries, err := bundleIndex(tensors)
	if err != nil {
		return err
	}
	if err := writeBundleData(dataFile(prefix, 0, 1), tensors); err != nil {
		return err
	}
	return os.WriteFile(prefix+".index", encodeTable(entries), 0o644)
}

func dataFile(prefix string, shard, shards int32) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", prefix, shard, shards)
}

// bundleIndex is the table: under "" the header, under each key where its tensor lies.
func bundleIndex(tensors []bundleTensor) ([]tableEntry, error) {
	header, err := marshal(&corepb.BundleHeaderProto{NumShards: 1, Version: &versionpb.VersionDef{Producer: 1}})
	if err != nil {
		return nil, err
	}
	entries := []tableEntry{{"", header}}
	var offset int64
	for _, t := range tensors {
		value, err := marshal(&corepb.BundleEntryProto{
			Dtype: t.dtype, Shape: shapeProto(t.shape...), Offset: offset, Size: int64(len(t.data)), Crc32C: t.crc,
		})
		if err != nil {
			return nil, err
		}
		entries = append(entries, tableEntry{t.key, value})
		offset += int64(len(t.data))
	}
	return entries, nil
}

func writeBundleData(name string, tensors []bundleTensor) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write variables: %w", err)
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	w := bufio.NewWriter(file)
	for _, t := range tensors {
		if _, err := w.Write(t.data); err != nil {
			return fmt.Errorf("write variable %s: %w", t.key, err)
		}
	}
	return w.Flush()
}

// marshal encodes a message so that equal messages have equal bytes.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}
