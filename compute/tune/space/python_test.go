package space_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestNumbersAndTextsAreWrittenAsPythonDoes(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"1": int64(1), "1.0": 1.0, "-0.0": math.Copysign(0, -1), "0.1": 0.1, "0.30000000000000004": 0.30000000000000004,
		"1e-05": 1e-5, "0.0001": 1e-4, "9.999e-05": 9.999e-5, "1e+16": 1e16, "1234567890123456.0": 1234567890123456.0, "1.5e-300": 1.5e-300,
		"5e-324": 5e-324, "true": true, "NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
		`"a\"\\\n\t\r\f\b\u0001\u007f/<\u00e9\u4e2d\ud83d\ude00"`: "a\"\\\n\t\r\f\b\x01\x7f/<é中😀",
	} {
		text, err := space.Space{}.Encode(space.Values{{"x", value}})
		if want := `{"space": [], "values": {"x": ` + want + `}}`; err != nil || string(text) != want {
			t.Errorf("got %s, %v: expected %s", text, err, want)
		}
		_, values, err := space.Decode(text)
		if diff := cmp.Diff(space.Values{{"x", value}}, values, equateNaNs); err != nil || diff != "" {
			t.Errorf("%s: read back: %v\n%s", want, err, diff)
		}
	}
}

var equateNaNs = cmp.FilterValues(func(a, b float64) bool { return math.IsNaN(a) && math.IsNaN(b) }, cmp.Ignore())

func TestReadingKeepsTypes(t *testing.T) {
	t.Parallel()
	text := `{"space": [{"class_name": "Float", "config": {"name": "rate", "default": 1, "conditions": [], "min_value": 0, "max_value": 2}},
		{"class_name": "Choice", "config": {"name": "on", "default": true, "conditions": [], "values": [true, false]}},
		{"class_name": "Int", "config": {"name": "n", "min_value": 1.0, "max_value": 2, "default": null}}],
		"values": {"rate": 1, "on": true, "n": 2, "tuner/epochs": 3, "tuner/trial_id": "0001"}}`
	s, values, err := space.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := space.Values{{"rate", 1.0}, {"on", int64(1)}, {"n", int64(2)}, {"tuner/epochs", int64(3)}, {"tuner/trial_id", "0001"}}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	again, err := s.Encode(values)
	if err != nil {
		t.Fatal(err)
	}
	const expected = `{"space": [` +
		`{"class_name": "Float", "config": {"name": "rate", "default": 1.0, "conditions": [], "min_value": 0.0, "max_value": 2.0, "step": null, "sampling": "linear"}}, ` +
		`{"class_name": "Choice", "config": {"name": "on", "default": 1, "conditions": [], "values": [1, 0], "ordered": true}}, ` +
		`{"class_name": "Int", "config": {"name": "n", "default": null, "conditions": [], "min_value": 1, "max_value": 2, "step": 1, "sampling": "linear"}}], ` +
		`"values": {"rate": 1.0, "on": 1, "n": 2, "tuner/epochs": 3, "tuner/trial_id": "0001"}}`
	if diff := cmp.Diff(expected, string(again)); diff != "" {
		t.Error(diff)
	}
}

func TestValuesAreReadOfASpaceThatIsNotKnown(t *testing.T) {
	t.Parallel()
	text := `{"space": [{"class_name": "Text", "config": {"name": "words"}}], "values": {"words": "a b", "n": 9007199254740993, "x": NaN}}`
	values, err := space.DecodeValues([]byte(text))
	if n, _ := values.Lookup("n"); err != nil || len(values) != 3 || n != int64(9007199254740993) {
		t.Errorf("%v, %v", values, err)
	}
	if _, _, err := space.Decode([]byte(text)); err == nil {
		t.Error("Decode took a kind that is not known")
	}
}

func TestALogHoldsSpacesAndValues(t *testing.T) {
	t.Parallel()
	type entry struct {
		Space  space.Space  `json:"space,omitempty"`
		Values space.Values `json:"values"`
	}
	first, err := json.Marshal(entry{models, models.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	var read entry
	if err := json.Unmarshal(first, &read); err != nil {
		t.Fatal(err)
	}
	if second := marshal(t, read); second != string(first) {
		t.Errorf("%s\n%s", first, second)
	}
	if diff := cmp.Diff(models.Defaults(), read.Values); diff != "" {
		t.Error(diff)
	}
	if _, err := json.Marshal(space.Values{{"x", math.NaN()}}); err == nil {
		t.Error("a log held NaN")
	}
	if text := marshal(t, entry{}); text != `{"values":{}}` {
		t.Error(text)
	}
}

// Any config that is read can be written, and read again as the same; and every value of a space
// that was read has a place that leads back to it.
func FuzzDecode(f *testing.F) {
	f.Add(example(f))
	f.Add([]byte(`{"space": [], "values": {"x": NaN, "y": "\ud83d\ude00", "z": -Infinity}}`))
	f.Add([]byte(one("Int", `"min_value": 1, "max_value": 4096, "sampling": "reverse_log", "step": 2`)))
	f.Add([]byte(one("Float", `"min_value": 0.1, "max_value": 0.1`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		alone, lenient := space.DecodeValues(text)
		s, values, err := space.Decode(text)
		if err != nil {
			return
		}
		if lenient != nil || len(alone) != len(values) {
			t.Fatalf("values alone: %v, %v", alone, lenient)
		}
		first, err := s.Encode(values)
		if err != nil {
			t.Fatal(err)
		}
		s, values, err = space.Decode(first)
		if err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		if second, err := s.Encode(values); err != nil || string(second) != string(first) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
		for _, p := range s {
			for _, place := range []float64{0, 0.3, 0.999999, 1} {
				_ = p.Place(p.At(place))
			}
			_ = p.Start()
		}
		_ = s.Defaults()
		_ = s.Size()
	})
}
