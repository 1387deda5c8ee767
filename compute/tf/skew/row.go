package skew

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// row is one tf.Example or tf.SequenceExample. The first is the second's context: the two are the
// same on the wire.
type row struct {
	features map[string]*examplepb.Feature
	lists    map[string]*examplepb.FeatureList
	record   string // as it was read; "" for a row that was made
}

// maxRowBytes limits the records of the rows that are in memory at a time. Each is there twice: as
// it was read, and parsed.
const maxRowBytes = 256 << 20

// readRows reads the first rows of files, in the order in which a training evaluates them: at most
// most of them, and fewer of large ones.
func readRows(patterns []string, most int) ([]row, error) {
	files, err := example.Files(patterns...)
	if err != nil {
		return nil, err
	}
	var rows []row
	left := int64(maxRowBytes)
	for _, file := range files {
		more, err := readFile(file, most-len(rows), &left)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, more...); len(rows) >= most || left <= 0 {
			break
		}
	}
	return rows, nil
}

func readFile(path string, most int, left *int64) (rows []row, err error) {
	r, err := tfrecord.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read: nothing can be lost
	for len(rows) < most && *left > 0 {
		data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		var e examplepb.SequenceExample
		if err := proto.Unmarshal(data, &e); err != nil {
			return nil, fmt.Errorf("%w: %s: record %d is no tf.Example: %w", example.ErrInput, path, len(rows), err)
		}
		rows = append(rows, row{e.GetContext().GetFeature(), e.GetFeatureLists().GetFeatureList(), string(data)})
		*left -= int64(len(data))
	}
	return rows, nil
}

// request returns the row as a client sends it: without the labels.
func (r row) request(labels []string) (string, error) {
	if r.record != "" && !slices.ContainsFunc(labels, r.has) {
		return r.record, nil
	}
	e := &examplepb.SequenceExample{Context: &examplepb.Features{Feature: without(r.features, labels)}}
	if len(r.lists) > 0 {
		e.FeatureLists = &examplepb.FeatureLists{FeatureList: without(r.lists, labels)}
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("write a row anew: %w", err)
	}
	return string(text), nil
}

func without[T any](features map[string]T, names []string) map[string]T {
	left := map[string]T{}
	for name, f := range features {
		if !slices.Contains(names, name) {
			left[name] = f
		}
	}
	return left
}

// has reports whether the row has a feature, even if it is one of many with that name.
func (r row) has(name string) bool { return r.features[name] != nil || r.lists[name] != nil }

// values returns the values of a feature of the row. For a list of features they are those of all
// steps.
func (r row) values(name string) values {
	if f, ok := r.features[name]; ok {
		return valuesIn(f)
	}
	list, ok := r.lists[name]
	if !ok {
		// The name of a struct's feature begins with the name of the struct.
		list = r.lists[name[strings.LastIndexByte(name, '.')+1:]]
	}
	all := values{}
	for _, step := range list.GetFeature() {
		v := valuesIn(step)
		all.floats, all.ints, all.texts = append(all.floats, v.floats...), append(all.ints, v.ints...), append(all.texts, v.texts...)
	}
	return all
}

func valuesIn(f *examplepb.Feature) values {
	switch of := f.GetKind().(type) {
	case *examplepb.Feature_FloatList:
		v := values{}
		for _, x := range of.FloatList.GetValue() {
			v.floats = append(v.floats, float64(x))
		}
		return v
	case *examplepb.Feature_Int64List:
		return values{ints: of.Int64List.GetValue()}
	case *examplepb.Feature_BytesList:
		v := values{}
		for _, x := range of.BytesList.GetValue() {
			v.texts = append(v.texts, string(x))
		}
		return v
	}
	return values{}
}
