package example_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// chunkSpec has a column of each sort that has a loop of its own, and of those that don't.
func chunkSpec() example.Spec {
	return example.Spec{
		{Name: "a_measure_at_noon_as_mean", Kind: example.Float, Shape: []int{1}},
		{Name: "a_measure_in_june_as_mean", Kind: example.Float, Shape: []int{1}, Default: &example.Default{Float: 7}},
		{Name: "f", Kind: example.Float},
		{Name: "i", Kind: example.Int64, Shape: []int{1}, Default: &example.Default{Int64: -7}},
		{Name: "ids", Kind: example.Int64},
		{Name: "pair", Kind: example.Int64, Shape: []int{2}, Default: &example.Default{Int64: 3}},
		{Name: "s", Kind: example.Bytes},
		{Name: "steps", Kind: example.Int64, Sequence: true},
		{Name: "vector", Kind: example.Float, Shape: []int{40}, Default: &example.Default{Float: 2}},
		{Name: "word", Kind: example.Bytes, Shape: []int{1}, Default: &example.Default{Bytes: []byte("none")}},
	}
}

// drawRecord returns records that are mostly as a writer makes them, with features left out, of
// other sizes and in any order.
func drawRecord(random *rand.Rand) []byte {
	parts := []func(*example.Builder){
		func(b *example.Builder) { b.Float("a_measure_in_june_as_mean", random.Float32()) },
		func(b *example.Builder) { b.Float("f", make([]float32, random.IntN(40))...) },
		func(b *example.Builder) { b.Int64("i", random.Int64()>>random.IntN(64)) },
		func(b *example.Builder) { b.Int64("i", -random.Int64N(9)) },
		func(b *example.Builder) { b.Int64("ids", random.Int64N(1<<20), 3) },
		func(b *example.Builder) { b.Int64("ids", random.Int64N(1<<40)) },
		func(b *example.Builder) { b.Int64("pair", 5, random.Int64N(1000)) },
		func(b *example.Builder) { b.String("s", strings.Repeat("x", random.IntN(200))) },
		func(b *example.Builder) { b.String("s", "one", "two") },
		func(b *example.Builder) { b.Int64Steps("steps", []int64{1, 2}, nil, []int64{random.Int64N(300)}) },
		func(b *example.Builder) {
			v := make([]float32, 40)
			v[7] = random.Float32()
			b.Float("vector", v...)
		},
		func(b *example.Builder) { b.String("word", strings.Repeat("y", random.IntN(20))) },
		func(b *example.Builder) { b.String("nobody_asked", strings.Repeat("z", random.IntN(150))) },
	}
	random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	b := new(example.Builder).Float("a_measure_at_noon_as_mean", random.Float32())
	for _, part := range parts[:random.IntN(len(parts)+1)] {
		part(b)
	}
	record := b.Build()
	if random.IntN(8) == 0 { // not as writers do it
		record = protowire.AppendVarint(protowire.AppendTag(record, 9, protowire.VarintType), 300)
	}
	return record
}

// sameAsOneByOne compares reading records all at once with reading one after the other.
func sameAsOneByOne(t *testing.T, records [][]byte) {
	t.Helper()
	d, err := example.NewDecoder(chunkSpec())
	if err != nil {
		t.Fatal(err)
	}
	want, bad := example.NewBatch(chunkSpec()), error(nil)
	for i, r := range records {
		if err := d.Append(want, r); err != nil {
			bad = fmt.Errorf("record %d: %w", i, err)
			break
		}
	}
	got, err := example.Parse(chunkSpec(), records...)
	if fmt.Sprint(err) != fmt.Sprint(bad) {
		t.Fatalf("all at once: %v; one by one: %v", err, bad)
	}
	if err != nil {
		return
	}
	equal(t, "rows", got.Rows, want.Rows)
	for i := range want.Columns {
		equal(t, want.Columns[i].Feature.Name, contents(&got.Columns[i]), contents(&want.Columns[i]))
	}
}

// contents returns a column's slices; for floats their bits.
func contents(c *example.Column) string {
	var bits []uint32
	for _, v := range c.Floats {
		bits = append(bits, math.Float32bits(v))
	}
	return fmt.Sprint(c.Offsets, c.Inner, bits, c.Ints, c.Data, c.Ends)
}

func TestManyRecordsAreReadAsOneByOne(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		records := make([][]byte, random.IntN(150))
		for i := range records {
			records[i] = drawRecord(random)
		}
		sameAsOneByOne(t, records)
		if len(records) == 0 {
			continue
		}
		// Cut, or changed somewhere.
		at := random.IntN(len(records))
		spoilt := slices.Clone(records[at])
		if random.IntN(2) == 0 {
			spoilt = spoilt[:random.IntN(len(spoilt))]
		} else {
			spoilt[random.IntN(len(spoilt))] = byte(random.IntN(256))
		}
		records[at] = spoilt
		sameAsOneByOne(t, records)
	}
}

// Bytes that begin like one small integer, and aren't one.
func TestOddIntegersAreReadAsOneByOne(t *testing.T) {
	t.Parallel()
	record := func(feature ...byte) []byte {
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "ids")
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), feature)
		features := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), entry)
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), features)
	}
	before := new(example.Builder).Float("a_measure_at_noon_as_mean", 1).Build()
	for name, feature := range map[string][]byte{
		"small":        {0x1a, 3, 0x0a, 1, 5},
		"without end":  {0x1a, 3, 0x0a, 1, 0x85},
		"in two parts": {0x1a, 3, 0x0a, 1, 5, 0x1a, 3, 0x0a, 1, 6},
		"two":          {0x1a, 4, 0x0a, 2, 5, 6},
		"not packed":   {0x1a, 2, 0x08, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := append(slices.Clone(before), record(feature...)...)
			sameAsOneByOne(t, [][]byte{whole, whole})
		})
	}
}

func FuzzManyRecords(f *testing.F) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 10 {
		f.Add(drawRecord(random), uint8(random.IntN(100)))
	}
	for _, bytes := range tableOfEdges() {
		f.Add(bytes, uint8(3))
	}
	f.Fuzz(func(t *testing.T, bytes []byte, at uint8) {
		random := rand.New(rand.NewPCG(9, uint64(at)))
		records := make([][]byte, 100)
		for i := range records {
			records[i] = drawRecord(random)
		}
		records[int(at)%100] = bytes
		sameAsOneByOne(t, records)
	})
}

func TestNamesThatDifferInTheMiddleOnlyAreDistinguished(t *testing.T) {
	t.Parallel()
	var b example.Builder
	var spec example.Spec
	names := []string{
		"a_measure_at_dawn_as_mean", "a_measure_at_dusk_as_mean", "a_measure_at_noon_as_mean", "a_measure_of_dawn", "a_measure_of_dusk",
		"column_01234_of_data", "column_05678_of_data",
	}
	for _, name := range names {
		b.Int64(name, int64(len(spec)))
		spec = append(spec, example.Feature{Name: name, Kind: example.Int64, Shape: []int{1}})
	}
	b.Int64("a_measure_at_moon_as_mean", 9).Int64("column_09999_of_data", 9)
	got, err := example.Parse(spec, b.Build())
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Columns {
		equal(t, spec[i].Name, got.Columns[i].Ints, []int64{int64(i)})
	}
}
