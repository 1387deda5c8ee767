package search

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// elsewhere are the keys of tuner.study that other code handles: from by Learn, best_model by the
// tuner.
var elsewhere = map[string]bool{"From": true, "BestModel": true}

// A key that is added to the pipeline file and forgotten here would silently have no effect.
func TestEveryKeyOfAPipelinesStudyReachesTheSearch(t *testing.T) {
	t.Parallel()
	var study pipeline.Study
	each(reflect.ValueOf(&study).Elem(), "", func(path string, field reflect.Value) {
		if elsewhere[path] {
			return
		}
		study = pipeline.Study{}
		if strings.HasPrefix(path, "Algorithm.") {
			study.Algorithm = &pipeline.Algorithm{}
		}
		if strings.HasPrefix(path, "Validation.") {
			study.Validation = &pipeline.Validation{}
		}
		if strings.HasPrefix(path, "Stopping.") {
			study.Stopping = &pipeline.Stopping{}
		}
		target := at(reflect.ValueOf(&study).Elem(), path)
		target.Set(some(target.Type()))
		got := units()
		if err := override(&got, study); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if cmp.Equal(got, units()) {
			t.Errorf("%s changes nothing", path)
		}
	})
}

// each calls do for each key, and for those inside of algorithm and stopping.
func each(v reflect.Value, under string, do func(path string, field reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if t := field.Type; t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
			each(reflect.New(t.Elem()).Elem(), field.Name+".", do)
			continue
		}
		do(under+field.Name, v.Field(i))
	}
}

// at returns the field of a path.
func at(v reflect.Value, path string) reflect.Value {
	if outer, inner, nested := strings.Cut(path, "."); nested {
		return v.FieldByName(outer).Elem().FieldByName(inner)
	}
	return v.FieldByName(path)
}

// some returns a value of a type that differs from its zero value.
func some(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(some(t.Elem()))
	case reflect.Slice:
		if t == reflect.TypeFor[[]map[string]any]() {
			return reflect.ValueOf([]map[string]any{{"units": 8}})
		}
		v = reflect.Append(v, some(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(some(t.Field(i).Type))
		}
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(7)
	default:
		v.SetInt(7)
	}
	return v
}
