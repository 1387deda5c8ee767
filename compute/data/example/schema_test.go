package example_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

func specOf(t testing.TB, path string) example.Spec {
	t.Helper()
	s, err := example.ReadSchema(path)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func parseSpec(text string) (example.Spec, error) {
	s, err := example.ParseSchema("schema.pbtxt", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return s.Spec()
}

func TestSchemasOfTFX(t *testing.T) {
	t.Parallel()
	describe := func(spec example.Spec) (lines []string) {
		for _, f := range spec {
			line := fmt.Sprintf("%s %v", f.Name, f.Kind)
			if !f.VarLen() {
				line += fmt.Sprint(" ", f.Shape)
			}
			if f.IntRange != nil {
				line += fmt.Sprint(" ", *f.IntRange)
			}
			if f.Categorical {
				line += " categorical"
			}
			if len(f.Vocabulary) > 0 {
				line += fmt.Sprintf(" %d words from %q", len(f.Vocabulary), f.Vocabulary[0])
			}
			lines = append(lines, line)
		}
		return lines
	}
	for path, want := range map[string][]string{
		"testdata/penguin/schema/schema.pbtxt": {
			"body_mass_g float [1]", "culmen_depth_mm float [1]", "culmen_length_mm float [1]", "flipper_length_mm float [1]",
			"species int64 [1]",
		},
		"testdata/taxi/schema/schema.pbtxt": {
			`company string 61 words from "0118 - 42111 Godfrey S.Awir"`, "dropoff_census_tract int64", "dropoff_community_area int64",
			"dropoff_latitude float", "dropoff_longitude float", "fare float [1]",
			`payment_type string [1] 7 words from "Cash"`, "pickup_census_tract int64", "pickup_community_area int64",
			"pickup_latitude float", "pickup_longitude float", "tips float [1]", "trip_miles float [1]", "trip_seconds int64",
			"trip_start_day int64 [1]", "trip_start_hour int64 [1]", "trip_start_month int64 [1]", "trip_start_timestamp int64 [1]",
		},
		"testdata/taxi/transformed_metadata/schema.pbtxt": {
			"company_xf int64 [] {0 54} categorical", "dropoff_census_tract_xf int64 []", "dropoff_community_area_xf int64 []",
			"dropoff_latitude_xf int64 [] {0 9} categorical", "dropoff_longitude_xf int64 [] {0 9} categorical", "fare_xf float [1]",
			"payment_type_xf int64 [1] {0 15} categorical", "pickup_census_tract_xf int64 []", "pickup_community_area_xf int64 []",
			"pickup_latitude_xf int64 [] {0 9} categorical", "pickup_longitude_xf int64 [] {0 9} categorical", "tips_xf int64 [1]",
			"trip_miles_xf float [1]", "trip_seconds_xf float []", "trip_start_day_xf int64 [1]", "trip_start_hour_xf int64 [1]",
			"trip_start_month_xf int64 [1]",
		},
	} {
		equal(t, path, strings.Join(describe(specOf(t, path)), "\n"), strings.Join(want, "\n"))
	}
}

func TestABinarySchemaSaysTheSameAsText(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/penguin/schema/schema.pbtxt", "testdata/taxi/schema/schema.pbtxt", "testdata/taxi/transformed_metadata/schema.pbtxt"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := example.ParseSchema("schema.pb", strings.NewReader(string(binarySchema(t, text))))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := s.Spec()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, path, spec, specOf(t, path))
	}
}

func binarySchema(t testing.TB, text []byte) []byte {
	t.Helper()
	var m schemapb.Schema
	if err := prototext.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatASchemaSaysOfAFeature(t *testing.T) {
	t.Parallel()
	const always = "presence { min_fraction: 1.0 } "
	x := func(f example.Feature) example.Spec {
		if f.Kind == 0 {
			f.Kind = example.Int64
		}
		f.Name = "x"
		return example.Spec{f}
	}
	for text, want := range map[string]example.Spec{
		`feature { name: "x" type: INT ` + always + `shape { dim { size: 2 } dim { size: 3 } } }`: x(example.Feature{Shape: []int{2, 3}}),
		`feature { name: "x" type: INT ` + always + `shape { } }`:                                 x(example.Feature{Shape: []int{}}),
		`feature { name: "x" type: INT value_count { min: 1 max: 1 } }`:                           x(example.Feature{}),
		`feature { name: "x" type: INT value_counts { value_count { min: 1 } } }`:                 x(example.Feature{}),

		`feature { name: "x" type: INT int_domain { min: 3 } }`:                                x(example.Feature{IntRange: &example.Range{Min: 3, Max: math.MaxInt64}}),
		`feature { name: "x" type: INT int_domain { max: 3 } }`:                                x(example.Feature{IntRange: &example.Range{Min: math.MinInt64, Max: 3}}),
		`feature { name: "x" type: INT int_domain { is_categorical: true } }`:                  x(example.Feature{Categorical: true}),
		`feature { name: "x" type: INT domain: "d" } int_domain { name: "d" min: 1 max: 2 }`:   x(example.Feature{IntRange: &example.Range{Min: 1, Max: 2}}),
		`feature { name: "x" type: BYTES domain: "d" } string_domain { name: "d" value: "v" }`: x(example.Feature{Kind: example.Bytes, Vocabulary: []string{"v"}}),
		`feature { name: "x" type: BYTES domain: "d" }`:                                        x(example.Feature{Kind: example.Bytes}),
		`feature { name: "x" type: BYTES string_domain { value: "v" value: "w" } }`:            x(example.Feature{Kind: example.Bytes, Vocabulary: []string{"v", "w"}}),

		`feature { name: "x" type: INT } feature { name: "old" lifecycle_stage: DEPRECATED } feature { name: "new" lifecycle_stage: PLANNED }
		 feature { name: "odd" lifecycle_stage: DEBUG_ONLY } feature { name: "older" deprecated: true } feature { name: "try" lifecycle_stage: ALPHA }`: x(example.Feature{}),
		`feature { name: "x" type: INT lifecycle_stage: BETA annotation { tag: "t" } skew_comparator { jensen_shannon_divergence { threshold: 0.1 } } }
		 dataset_constraints { min_examples_count: 1 }`: x(example.Feature{}),

		`feature { name: "##SEQUENCE##" type: STRUCT struct_domain { feature { name: "x" type: INT } } }`: x(example.Feature{Sequence: true}),

		`feature { name: "x" type: INT } tensor_representation_group { key: "" value { tensor_representation { key: "t"
		   value { dense_tensor { column_name: "x" shape { dim { size: 1 } } default_value { int_value: -1 } } } } } }`: x(example.Feature{Shape: []int{1}, Default: &example.Default{Int64: -1}}),
		`feature { name: "x" type: INT ` + always + `shape { } } tensor_representation_group { key: "" value { tensor_representation { key: "t"
		   value { varlen_sparse_tensor { column_name: "x" } } } } }`: x(example.Feature{}),
		// Of one feature a dense tensor and one of any length: any length is read.
		`feature { name: "x" type: INT } tensor_representation_group { key: "" value {
		   tensor_representation { key: "t" value { dense_tensor { column_name: "x" shape { } default_value { int_value: 1 } } } }
		   tensor_representation { key: "u" value { varlen_sparse_tensor { column_name: "x" } } } } }`: x(example.Feature{}),
		// A plain feature and one of steps that have one name.
		`feature { name: "x" type: INT } feature { name: "s" type: STRUCT struct_domain { feature { name: "x" type: INT } } }`: append(x(example.Feature{}), x(example.Feature{Sequence: true})...),
		`feature { name: "x" type: INT deprecated: true } feature { name: "x" type: FLOAT }`:                                   x(example.Feature{Kind: example.Float}),
		`feature { name: "s" type: STRUCT struct_domain { feature { name: "x" type: INT } } }
		 tensor_representation_group { key: "" value { tensor_representation { key: "t" value { ragged_tensor { feature_path { step: "s" step: "x" } } } } } }`: x(example.Feature{Sequence: true}),
		`feature { name: "x" type: INT } tensor_representation_group { key: "other" value { tensor_representation { key: "t"
		   value { dense_tensor { column_name: "x" shape { dim { size: 1 } } } } } } }`: x(example.Feature{}),
		``: nil,
	} {
		got, err := parseSpec(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		equal(t, text, got, want)
	}
}

// sparseOf returns a sparse feature s with an index feature of that domain.
func sparseOf(domain string) string {
	return `feature { name: "i" type: INT ` + domain + ` } feature { name: "v" type: INT } sparse_feature { name: "s" index_feature { name: "i" } value_feature { name: "v" } }`
}

// represented returns an integer feature x and a tensor representation t.
func represented(how string) string {
	return `feature { name: "x" type: INT } tensor_representation_group { key: "" value { tensor_representation { key: "t" value { ` + how + ` } } } }`
}

func TestBadSchemasAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"feature {\n  name: \"x\"\n  type: FLAOT\n}": "parse schema schema.pbtxt: (line 3:9): invalid value for enum",
		"feature {\n  name: \"x\"\n":                 "parse schema schema.pbtxt: ",
		"feature: 7":                                 "parse schema schema.pbtxt: syntax error (line 1:10): unexpected token: 7",
		"\x0a\xff\x01":                               "parse schema schema.pbtxt: ",
		`feature { name: "x" type: INT shape { } }`:  `schema schema.pbtxt: feature "x": shape is set but presence.min_fraction is 0, not 1`,
		`feature { name: "x" }`:                      `feature "x": type TYPE_UNKNOWN is none of BYTES, INT, FLOAT`,
		`feature { name: "s" type: STRUCT struct_domain { feature { name: "t" type: STRUCT } } }`:  `feature "s": struct "t" inside a struct`,
		`feature { name: "s" type: STRUCT struct_domain { sparse_feature { name: "t" } } }`:        `feature "s": sparse features inside a struct`,
		`sparse_feature { name: "s" index_feature { name: "i" } }`:                                 `sparse_feature "s": index feature "i" isn't in the schema`,
		`feature { name: "i" type: INT } sparse_feature { name: "s" index_feature { name: "i" } }`: `sparse_feature "s": value feature "" isn't in the schema`,
		sparseOf(`int_domain { min: 1 max: 3 }`):                                                   `sparse_feature "s": index feature "i" begins at 1`,
		sparseOf(`int_domain { min: 0 }`):                                                          `sparse_feature "s": index feature "i" has an int_domain without min or max`,
		represented(`dense_tensor { column_name: "y" }`):                                           `tensor "t": the schema has no feature "y"`,
		represented(`ragged_tensor { }`):                                                           `tensor "t": feature_path is empty`,
		represented(`ragged_tensor { feature_path { step: "x" } partition { } }`):                  `tensor "t": partition 0 is none of`,
		represented(``): `tensor "t": is none of dense_tensor`,
		represented(`sparse_tensor { index_column_names: "x" value_column_name: "f" }`) + `feature { name: "f" }`: `tensor "t": feature "f": type TYPE_UNKNOWN`,
		represented(`sparse_tensor { index_column_names: "f" value_column_name: "x" } } } tensor_representation { key: "u" value {
		   varlen_sparse_tensor { column_name: "f" }`) + `feature { name: "f" type: FLOAT }`: `tensor "u": feature "f" is read as float here and as int64`,
		`feature { type: INT }`: "a name is missing",
		`feature { name: "x" type: INT presence { min_fraction: 1 } shape { dim { size: -1 } } }`: `feature "x": shape [-1]`,
		`generate_legacy_feature_spec: true`:                                                      "generate_legacy_feature_spec",
		`feature { name: "x" type: INT } tensor_representation_group { key: "" value { tensor_representation { key: "t"
		   value { dense_tensor { column_name: "x" default_value { float_value: 1 } } } } } }`: `tensor "t": default_value is a float, but feature "x" a int64`,
	} {
		_, err := parseSpec(text)
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %s", text, err, want)
		}
	}
	if _, err := example.ReadSchema("testdata/none"); !errors.Is(err, os.ErrNotExist) || errors.Is(err, example.ErrInput) {
		t.Errorf("a schema that is not there: %v", err)
	}
}

func TestAnEnvironmentLeavesOutItsFeatures(t *testing.T) {
	t.Parallel()
	s, err := example.ParseSchema("s", strings.NewReader(`
		default_environment: "TRAINING" default_environment: "SERVING"
		feature { name: "label" type: INT not_in_environment: "SERVING" }
		feature { name: "debug" type: INT in_environment: "DEBUG" }
		feature { name: "x" type: INT }`))
	if err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]string{"TRAINING": "[debug label x]", "SERVING": "[debug x]", "DEBUG": "[debug]", "OTHER": "[]"} {
		spec, err := s.EnvironmentSpec(environment)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, environment, fmt.Sprint(spec.Names()), want)
	}
	equal(t, "environments", s.Environments(), []string{"TRAINING", "SERVING"})
}

// Whatever the bytes, a schema is refused or gives a spec that a Decoder accepts.
func FuzzSchema(f *testing.F) {
	for _, path := range []string{"testdata/penguin/schema/schema.pbtxt", "testdata/taxi/schema/schema.pbtxt", "testdata/taxi/transformed_metadata/schema.pbtxt"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		f.Add(string(binarySchema(f, text)))
	}
	for seed := range uint64(20) {
		f.Add(randomSchema(seed))
		f.Add(string(binarySchema(f, []byte(randomSchema(seed)))))
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := parseSpec(text)
		if err != nil {
			if !errors.Is(err, example.ErrInput) {
				t.Errorf("error %v is not an ErrInput", err)
			}
			return
		}
		if _, err := example.NewDecoder(spec); err != nil {
			t.Errorf("spec %v: %v", spec, err)
		}
	})
}
