package example_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
)

func TestCompositesNameTheirColumns(t *testing.T) {
	t.Parallel()
	schema, err := example.ParseSchema("schema.pbtxt", strings.NewReader(`
		sparse_feature { name: "sp" index_feature { name: "row" } index_feature { name: "column" } value_feature { name: "value" } }
		tensor_representation_group { key: "" value {
			tensor_representation { key: "a" value { ragged_tensor { feature_path { step: "words" } } } }
			tensor_representation { key: "b" value { sparse_tensor { index_column_names: "at" value_column_name: "v" } } }
			tensor_representation { key: "c" value { varlen_sparse_tensor { column_name: "other" } } }
			tensor_representation { key: "d" value { varlen_sparse_tensor { column_name: "d" } } }
			tensor_representation { key: "e" value { dense_tensor { column_name: "e" } } }
		} }`))
	if err != nil {
		t.Fatal(err)
	}
	got := schema.Composites()
	slices.SortFunc(got, func(a, b example.Composite) int { return strings.Compare(a.Name, b.Name) })
	want := []example.Composite{
		{Name: "a", Values: "words"},
		{Name: "b", Values: "v", Indices: []string{"at"}},
		{Name: "c", Values: "other"},
		{Name: "sp", Values: "value", Indices: []string{"row", "column"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
