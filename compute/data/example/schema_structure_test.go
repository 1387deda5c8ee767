package example_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
)

func TestTheStructureOfASchemaIsNotItsData(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		t.Helper()
		s, err := example.ParseSchema("schema.pbtxt", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.StructureDigest()
	}
	const usual = `
		feature { name: "age" type: INT presence { min_fraction: 1 min_count: 1 } shape { dim { size: 1 } } int_domain { min: 3 max: 80 } }
		feature { name: "word" type: BYTES presence { min_fraction: 0.8 } value_count { min: 1 max: 5 } domain: "words" }
		string_domain { name: "words" value: "a" value: "b" }`
	for name, c := range map[string]struct {
		old, new string
		same     bool
	}{
		"bounds":        {"max: 80", "max: 97", true},
		"words":         {`value: "b"`, `value: "c" value: "d"`, true},
		"presence":      {"0.8", "0.75", true},
		"count":         {"min_count: 1", "min_count: 2", true},
		"lengths":       {"max: 5", "max: 9", true},
		"comment":       {`string_domain {`, "# of today\nstring_domain {", true},
		"always there":  {"0.8", "1", false},
		"one value":     {"max: 5", "max: 1", false},
		"type":          {"type: INT", "type: FLOAT", false},
		"shape":         {"size: 1", "size: 2", false},
		"name":          {`"age"`, `"years"`, false},
		"categorical":   {"max: 80", "max: 80 is_categorical: true", false},
		"no domain":     {`domain: "words"`, "", false},
		"not in use":    {`type: BYTES`, "type: BYTES lifecycle_stage: DEPRECATED", false},
		"other tensors": {`string_domain {`, `tensor_representation_group { key: "" value { } } string_domain {`, false},
	} {
		changed := strings.Replace(usual, c.old, c.new, 1)
		if changed == usual {
			t.Fatalf("%s: nothing changed", name)
		}
		if (digest(changed) == digest(usual)) != c.same {
			t.Errorf("%s: equal is %t, want %t", name, !c.same, c.same)
		}
	}
	turned := `feature { name: "b" type: INT } feature { name: "a" type: INT }`
	if digest(turned) != digest(`feature { name: "a" type: INT } feature { name: "b" type: INT }`) {
		t.Error("the order of features counts")
	}
}
