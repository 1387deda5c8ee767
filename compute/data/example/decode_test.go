package example_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// message returns a length-delimited field.
func message(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
}

// entryA returns an entry of Features: key a, and a Feature of these fields.
func entryA(values ...[]byte) []byte {
	return message(1, message(1, []byte("a")), message(2, values...))
}

func exampleOf(entries ...[]byte) []byte { return message(1, entries...) }

func floats(values ...float32) []byte { return new(example.Builder).Float("a", values...).Build() }

// tableOfEdges returns unusual encodings. TensorFlow's parser defines the expected result of each;
// TestParsesAsTensorFlowDoes asks it.
func tableOfEdges() map[string][]byte {
	packed := func(values ...float32) []byte { return message(1, fixed32s(values...)) }
	return map[string][]byte{
		"one value":                  floats(7),
		"key absent":                 new(example.Builder).Float("b", 7).Build(),
		"kind not set":               exampleOf(entryA()),
		"record of 0 bytes":          {},
		"features of 0 bytes":        exampleOf(),
		"list empty":                 floats(),
		"two values":                 floats(7, 8),
		"other kind":                 new(example.Builder).Int64("a", 7).Build(),
		"other kind, empty":          new(example.Builder).Int64("a").Build(),
		"third kind":                 new(example.Builder).String("a", "7").Build(),
		"key twice":                  new(example.Builder).Float("a", 1, 2).Float("a", 7).Build(),
		"key twice, other kind last": new(example.Builder).Float("a", 7).Int64("a", 7).Build(),
		"key twice, right kind last": new(example.Builder).Int64("a", 7).Float("a", 7).Build(),
		"two Features":               slices.Concat(floats(1, 2), floats(7)),
		"two Features, other key":    slices.Concat(floats(7), new(example.Builder).Float("b", 1).Build()),
		"not packed":                 exampleOf(entryA(message(2, unpacked(7)))),
		"two values, not packed":     exampleOf(entryA(message(2, unpacked(7), unpacked(8)))),
		"value before key":           exampleOf(message(1, message(2, message(2, packed(7))), message(1, []byte("a")))),
	}
}

func fixed32s(values ...float32) []byte {
	b := floats(values...)
	return b[len(b)-4*len(values):]
}

// unpacked returns one float as an element of a FloatList.
func unpacked(v float32) []byte {
	return append(protowire.AppendTag(nil, 1, protowire.Fixed32Type), fixed32s(v)...)
}

const (
	missing  = `feature "a": float value is required but could not be found`
	mismatch = `feature "a": data types don't match: data type is int64, expected float`
)

func count(n int) string {
	return fmt.Sprintf(`feature "a": number of float values is %d, expected 1 for shape [1]`, n)
}

func TestEdgesOfExamples(t *testing.T) {
	t.Parallel()
	// Expected: an error, or the values in brackets.
	want := map[string]struct{ fixed, withDefault, varLen string }{
		"one value":                  {"[7]", "[7]", "[7]"},
		"key absent":                 {missing, "[5]", "[]"},
		"kind not set":               {missing, "[5]", "[]"},
		"record of 0 bytes":          {missing, "[5]", "[]"},
		"features of 0 bytes":        {missing, "[5]", "[]"},
		"list empty":                 {count(0), count(0), "[]"},
		"two values":                 {count(2), count(2), "[7 8]"},
		"other kind":                 {mismatch, mismatch, mismatch},
		"other kind, empty":          {mismatch, mismatch, mismatch},
		"third kind":                 {strings.Replace(mismatch, "int64", "string", 1), "data type is string", "data type is string"},
		"key twice":                  {"[7]", "[7]", "[7]"},
		"key twice, other kind last": {mismatch, mismatch, mismatch},
		"key twice, right kind last": {"[7]", "[7]", "[7]"},
		"two Features":               {"[7]", "[7]", "[7]"},
		"two Features, other key":    {"[7]", "[7]", "[7]"},
		"not packed":                 {"[7]", "[7]", "[7]"},
		"two values, not packed":     {count(2), count(2), "[7 8]"},
		"value before key":           {"[7]", "[7]", "[7]"},
	}
	for name, bytes := range tableOfEdges() {
		w, ok := want[name]
		if !ok {
			t.Errorf("%s: no expectation", name)
		}
		expect(t, name+", FixedLen", example.Feature{Shape: []int{1}}, bytes, w.fixed)
		expect(t, name+", FixedLen with default", example.Feature{Shape: []int{1}, Default: &example.Default{Float: 5}}, bytes, w.withDefault)
		expect(t, name+", VarLen", example.Feature{}, bytes, w.varLen)
	}
}

func expect(t *testing.T, name string, f example.Feature, bytes []byte, want string) {
	t.Helper()
	f.Name, f.Kind = "a", example.Float
	b, err := example.Parse(example.Spec{f}, bytes)
	got := ""
	if err == nil {
		got = fmt.Sprint(b.Columns[0].Floats)
	} else {
		got = err.Error()
		if !errors.Is(err, example.ErrInput) {
			t.Errorf("%s: error %v is not an ErrInput", name, err)
		}
	}
	if !strings.Contains(got, want) {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

func TestWireFormatIsReadAsProtocolBuffersHaveIt(t *testing.T) {
	t.Parallel()
	unknown := slices.Concat(message(9, []byte("later")), protowire.AppendVarint(protowire.AppendTag(nil, 8, protowire.VarintType), 300),
		protowire.AppendFixed64(protowire.AppendTag(nil, 7, protowire.Fixed64Type), 1))
	list := func(values ...float32) []byte { return message(2, message(1, fixed32s(values...))) }
	for name, c := range map[string]struct {
		record []byte
		want   string
	}{
		"unknown fields at each level": {slices.Concat(unknown, message(1, unknown, message(1, unknown, message(1, []byte("a")),
			message(2, unknown, message(2, unknown, message(1, fixed32s(7)))))), unknown), "[7]"},
		"packed and not, mixed":              {exampleOf(entryA(message(2, unpacked(1), message(1, fixed32s(2, 3)), unpacked(4)))), "[1 2 3 4]"},
		"same list twice is joined":          {exampleOf(entryA(list(1), list(2))), "[1 2]"},
		"value of an entry twice":            {exampleOf(message(1, message(1, []byte("a")), message(2, list(1)), message(2, list(2)))), "[1 2]"},
		"kinds in turn, the last counts":     {exampleOf(entryA(list(1), message(3, message(1, []byte{5})), list(2))), "[2]"},
		"lengths with needless bytes":        {exampleOf(message(1, message(1, []byte("a")), []byte{0x12, 0x88, 0x80, 0x00}, list(1)[:0], message(2, message(1, fixed32s(7))))), "[7]"},
		"key twice in an entry":              {exampleOf(message(1, message(1, []byte("b")), message(1, []byte("a")), message(2, list(3)))), "[3]"},
		"field of the wrong wire type":       {exampleOf(entryA(message(2, []byte{0x08, 5}), list(3))), "[3]"},
		"cut in a length":                    {[]byte{0x0a}, "malformed protocol buffer"},
		"length past the end":                {[]byte{0x0a, 5, 0x0a}, "malformed protocol buffer"},
		"packed floats of odd size":          {exampleOf(entryA(message(2, message(1, []byte{1, 2, 3})))), `feature "a": malformed protocol buffer: packed floats take 3 bytes`},
		"field number 0":                     {[]byte{0x02, 0}, "malformed protocol buffer"},
		"varint without end":                 {[]byte{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "malformed protocol buffer"},
		"length of 2^63":                     {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "malformed protocol buffer"},
		"group without end":                  {[]byte{0x0b, 0x08, 1}, "malformed protocol buffer"},
		"malformed feature nobody asked for": {exampleOf(message(1, message(1, []byte("b")), message(2, []byte{0x12, 99})), entryA(list(3))), "[3]"},
	} {
		expect(t, name, example.Feature{}, c.record, c.want)
	}
}

func TestEveryKindIsCounted(t *testing.T) {
	t.Parallel()
	record := new(example.Builder).Float("f", 1).Int64("i", 1).String("s", "one").Build()
	for name, kind := range map[string]example.Kind{"f": example.Float, "i": example.Int64, "s": example.Bytes} {
		_, err := example.Parse(example.Spec{{Name: name, Kind: kind, Shape: []int{2}}}, record)
		if want := fmt.Sprintf("number of %v values is 1, expected 2 for shape [2]", kind); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", kind, err, want)
		}
	}
}

func TestIntegersOfAllSizes(t *testing.T) {
	t.Parallel()
	want := []int64{0, 1, -1, 127, 128, 1 << 32, -1 << 63, 1<<63 - 1}
	spec := example.Spec{{Name: "a", Kind: example.Int64}}
	b, err := example.Parse(spec, new(example.Builder).Int64("a", want...).Build())
	if err != nil || !slices.Equal(b.Columns[0].Ints, want) {
		t.Errorf("read %v, %v", b, err)
	}
	cut := new(example.Builder).Int64("a", 128).Build()
	cut[len(cut)-1] |= 0x80
	if _, err := example.Parse(spec, cut); err == nil {
		t.Error("a varint that has no end was read")
	}
}

func TestColumnsOfRaggedRows(t *testing.T) {
	t.Parallel()
	spec := example.Spec{
		{Name: "f", Kind: example.Float, Shape: []int{2}, Default: &example.Default{Float: 9}},
		{Name: "i", Kind: example.Int64},
		{Name: "s", Kind: example.Bytes},
		{Name: "t", Kind: example.Bytes, Shape: []int{2}, Default: &example.Default{Bytes: []byte("d")}},
	}
	b, err := example.Parse(spec,
		new(example.Builder).Float("f", 1, 2).Int64("i", 1, 2, 3).String("s", "x", "", "zz").Build(),
		nil,
		new(example.Builder).Int64("i", 4).String("s", "w").String("t", "u", "v").Build(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if b.Rows != 3 {
		t.Errorf("%d rows", b.Rows)
	}
	want := map[string]string{
		"f": "[[1 2] [9 9] [9 9]]",
		"i": "[[1 2 3] [] [4]]",
		"s": `[["x" "" "zz"] [] ["w"]]`,
		"t": `[["d" "d"] ["d" "d"] ["u" "v"]]`,
	}
	for name, w := range want {
		if got := fmt.Sprint(rows(b, name)); got != w {
			t.Errorf("%s: %s, want %s", name, got, w)
		}
	}
	if b.Column("none") != nil {
		t.Error("a column that is not there was found")
	}
}

// rows returns the values of a column, row by row.
func rows(b *example.Batch, name string) (rows []any) {
	c := b.Column(name)
	for r := range b.Rows {
		start, end := c.Row(r)
		rows = append(rows, values(c, start, end))
	}
	return rows
}

func values(c *example.Column, start, end int) any {
	switch c.Feature.Kind {
	case example.Float:
		return c.Floats[start:end]
	case example.Int64:
		return c.Ints[start:end]
	}
	quoted := make([]string, 0, end-start)
	for i := start; i < end; i++ {
		quoted = append(quoted, fmt.Sprintf("%q", c.Bytes(i)))
	}
	return quoted
}

func TestABadRecordLeavesTheBatchAsItWas(t *testing.T) {
	t.Parallel()
	spec := example.Spec{
		{Name: "a", Kind: example.Float, Shape: []int{1}},
		{Name: "s", Kind: example.Bytes},
		{Name: "steps", Kind: example.Int64, Sequence: true},
		{Name: "z", Kind: example.Int64, Shape: []int{1}},
	}
	d, err := example.NewDecoder(spec)
	if err != nil {
		t.Fatal(err)
	}
	good := slices.Concat(new(example.Builder).Float("a", 1).String("s", "good").Int64("z", 1).Build(), lists("steps", []int64{1, 2}, []int64{3}))
	bad := slices.Concat(new(example.Builder).Float("a", 2).String("s", "bad", "worse").Build(), lists("steps", []int64{4}))
	b := example.NewBatch(spec)
	for range 2 {
		if err := d.Append(b, good); err != nil {
			t.Fatal(err)
		}
		if err := d.Append(b, bad); err == nil {
			t.Fatal("the bad record was read")
		}
	}
	for name, want := range map[string]string{"a": "[[1] [1]]", "s": `[["good"] ["good"]]`, "steps": "[[1 2 3] [1 2 3]]", "z": "[[1] [1]]"} {
		if got := fmt.Sprint(rows(b, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, c := range b.Columns {
		if len(c.Offsets) != 3 {
			t.Errorf("%s: offsets %v", c.Feature.Name, c.Offsets)
		}
	}
}

func TestSpecsThatCannotBe(t *testing.T) {
	t.Parallel()
	a := example.Feature{Name: "a", Kind: example.Float}
	with := func(change func(*example.Feature)) example.Spec {
		f := a
		change(&f)
		return example.Spec{f}
	}
	for name, spec := range map[string]example.Spec{
		"not sorted":               {{Name: "b", Kind: example.Float}, a},
		"a name twice":             {a, a},
		"no name":                  with(func(f *example.Feature) { f.Name = "" }),
		"no kind":                  with(func(f *example.Feature) { f.Kind = 0 }),
		"shape [0]":                with(func(f *example.Feature) { f.Shape = []int{0} }),
		"shape [-1]":               with(func(f *example.Feature) { f.Shape = []int{-1} }),
		"shape over 2^31":          with(func(f *example.Feature) { f.Shape = []int{1 << 16, 1 << 16} }),
		"default of 2^24 values":   with(func(f *example.Feature) { f.Default, f.Shape = &example.Default{}, []int{1 << 24} }),
		"default of a VarLen":      with(func(f *example.Feature) { f.Default = &example.Default{} }),
		"missing without a list":   with(func(f *example.Feature) { f.AllowMissing, f.Shape = true, []int{1} }),
		"missing without a shape":  with(func(f *example.Feature) { f.AllowMissing, f.Sequence = true, true }),
		"default of a list's step": with(func(f *example.Feature) { f.Default, f.Shape, f.Sequence = &example.Default{}, []int{}, true }),
	} {
		if _, err := example.NewDecoder(spec); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
