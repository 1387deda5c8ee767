package tensorbundle

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// maxIndexBytes limits the index, which is read into memory at once. TensorFlow's own indexes have
// about 50 bytes for each variable.
const maxIndexBytes = 256 << 20

// Bundle is a TensorBundle: the variables of a SavedModel or a checkpoint. Values are read on
// demand, each checked against its checksum. It may be used from several goroutines.
type Bundle struct {
	prefix  string
	shards  int32
	entries map[string]*corepb.BundleEntryProto
	keys    []string
	open    func(name string) (shardFile, error)
}

// shardFile is a data file.
type shardFile interface {
	io.ReaderAt
	io.Closer
	Length() (int64, error)
}

type osShard struct{ *os.File }

func (f osShard) Length() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func openShard(name string) (shardFile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return osShard{file}, nil
}

// Variable describes one tensor in a Bundle.
type Variable struct {
	Key   string // its key in the checkpoint: dense_1/kernel/.ATTRIBUTES/VARIABLE_VALUE
	DType string // TensorFlow's name of its element type: DT_FLOAT
	Shape []int
}

// Open reads the index <prefix>.index of a TensorBundle. For a SavedModel the prefix is
// <model>/variables/variables. Its values may be in any number of data files, and a variable may
// consist of slices, as partitioned variables are saved.
func Open(prefix string) (*Bundle, error) {
	index, err := readBounded(prefix + ".index")
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	b, err := parse(index)
	if err != nil {
		return nil, fmt.Errorf("read bundle %s.index: %w", prefix, err)
	}
	b.prefix = prefix
	b.open = openShard
	return b, nil
}

func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(file, maxIndexBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxIndexBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxIndexBytes)
	}
	return data, nil
}

func parse(index []byte) (*Bundle, error) {
	table, err := decodeTable(index)
	if err != nil {
		return nil, err
	}
	if len(table) == 0 || table[0].key != "" {
		return nil, errors.New("no header")
	}
	var header corepb.BundleHeaderProto
	if err := proto.Unmarshal(table[0].value, &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if header.GetEndianness() != corepb.BundleHeaderProto_LITTLE {
		return nil, errors.New("values are big endian, only little endian is read")
	}
	b := &Bundle{shards: header.GetNumShards(), entries: map[string]*corepb.BundleEntryProto{}}
	for _, row := range table[1:] {
		entry := new(corepb.BundleEntryProto)
		if err := proto.Unmarshal(row.value, entry); err != nil {
			return nil, fmt.Errorf("entry %q: %w", row.key, err)
		}
		b.entries[row.key] = entry
		if !isSliceKey(row.key) {
			b.keys = append(b.keys, row.key)
		}
	}
	slices.Sort(b.keys)
	return b, nil
}

// Variables lists the variables of the bundle, sorted by key, including the object graph.
func (b *Bundle) Variables() []Variable {
	list := make([]Variable, 0, len(b.keys))
	for _, key := range b.keys {
		e := b.entries[key]
		v := Variable{Key: key, DType: e.GetDtype().String()}
		for _, d := range e.GetShape().GetDim() {
			v.Shape = append(v.Shape, int(d.GetSize()))
		}
		list = append(list, v)
	}
	return list
}

// find finds a variable.
func (b *Bundle) find(key string) (*corepb.BundleEntryProto, error) {
	entry, ok := b.entries[key]
	if !ok {
		return nil, b.failure(key, errors.New("no such variable"))
	}
	return entry, nil
}

// elements returns the product of a shape.
func elements(shape *shapepb.TensorShapeProto) (int64, error) {
	n := int64(1)
	for _, d := range shape.GetDim() {
		size := d.GetSize()
		if size < 0 || size > 0 && n > math.MaxInt64/size {
			return 0, fmt.Errorf("bad shape %v", shape)
		}
		n *= size
	}
	return n, nil
}

// read returns the bytes of an entry. Its size is checked against the length of the file first.
func (b *Bundle) read(entry *corepb.BundleEntryProto) ([]byte, error) {
	name := dataFile(b.prefix, entry.GetShardId(), b.shards)
	file, err := b.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read: nothing can be lost
	length, err := file.Length()
	if err != nil {
		return nil, err
	}
	offset, size := entry.GetOffset(), entry.GetSize()
	if err := within(entry, name, length); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := file.ReadAt(data, offset); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

func (b *Bundle) failure(key string, err error) error {
	return fmt.Errorf("bundle %s: variable %q: %w", b.prefix, key, err)
}

// Size returns the bytes of a variable's values in the data files, by the index. Before a value is
// read, its size is checked against the length of its file.
func (b *Bundle) Size(key string) (int64, error) {
	entry, err := b.find(key)
	if err != nil {
		return 0, err
	}
	size := max(0, entry.GetSize())
	for _, slice := range entry.GetSlices() {
		if part := max(0, b.entries[sliceKey(key, slice)].GetSize()); part <= math.MaxInt64-size {
			size += part
		}
	}
	return size, nil
}

// CheckFiles returns an error if a data file is missing, or ends before the values that the index
// has in it. It reads no value: it finds a truncated file, but not a changed one.
func (b *Bundle) CheckFiles() error {
	lengths := map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(b.entries)) {
		entry := b.entries[key]
		if len(entry.GetSlices()) > 0 {
			continue // its values are those of other entries
		}
		name := dataFile(b.prefix, entry.GetShardId(), b.shards)
		if _, known := lengths[name]; !known {
			length, err := b.length(name)
			if err != nil {
				return b.failure(key, err)
			}
			lengths[name] = length
		}
		if err := within(entry, name, lengths[name]); err != nil {
			return b.failure(key, err)
		}
	}
	return nil
}

func (b *Bundle) length(name string) (int64, error) {
	file, err := b.open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close() // only read: nothing can be lost
	return file.Length()
}

// within returns an error for an entry whose values aren't within a file of that length.
func within(entry *corepb.BundleEntryProto, name string, length int64) error {
	offset, size := entry.GetOffset(), entry.GetSize()
	if offset < 0 || size < 0 || size > length || offset > length-size {
		return fmt.Errorf("%d bytes at %d lie outside %s, which has %d", size, offset, name, length)
	}
	return nil
}

// Tensor reads a variable of strings or numbers in the type in which it was saved. Numbers reads
// types of fewer bits, too.
func (b *Bundle) Tensor(key string) (tensor.Tensor, error) {
	e, err := b.find(key)
	if err != nil {
		return nil, err
	}
	dims := tensor.ShapeOf(e.GetShape())
	if e.GetDtype() == tensor.String {
		values, err := b.Strings(key)
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = string(v)
		}
		return &tensor.Array[string]{Dims: dims, Data: texts}, nil
	}
	data, _, err := b.numeric(key)
	if err != nil {
		return nil, err
	}
	t, err := tensor.FromBytes(e.GetDtype(), dims, data)
	if err != nil {
		return nil, b.failure(key, err)
	}
	return t, nil
}
