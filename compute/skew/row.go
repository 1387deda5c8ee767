package skew

import (
	"errors"
	"fmt"
	"io"
	"slices"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/record"
)

// row is one tf.Example.
type row struct{ features map[string]*examplepb.Feature }

// readRows reads the first rows of files, in the order in which a training evaluates them.
func readRows(patterns []string, most int) ([]row, error) {
	files, err := example.Files(patterns...)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, file := range files {
		more, err := readFile(file, most-len(rows))
		if err != nil {
			return nil, err
		}
		if rows = append(rows, more...); len(rows) >= most {
			break
		}
	}
	return rows, nil
}

func readFile(path string, most int) (rows []row, err error) {
	r, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read: nothing can be lost
	for len(rows) < most {
		data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		var e examplepb.Example
		if err := proto.Unmarshal(data, &e); err != nil {
			return nil, fmt.Errorf("%w: %s: record %d is no tf.Example: %w", example.ErrInput, path, len(rows), err)
		}
		rows = append(rows, row{e.GetFeatures().GetFeature()})
	}
	return rows, nil
}

// request is the row as a client sends it: without the labels.
func (r row) request(labels []string) (string, error) {
	features := map[string]*examplepb.Feature{}
	for name, f := range r.features {
		if !slices.Contains(labels, name) {
			features[name] = f
		}
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(&examplepb.Example{Features: &examplepb.Features{Feature: features}})
	if err != nil {
		return "", fmt.Errorf("write a row anew: %w", err)
	}
	return string(text), nil
}

// values are what the row has of a feature.
func (r row) values(name string) values {
	switch of := r.features[name].GetKind().(type) {
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
