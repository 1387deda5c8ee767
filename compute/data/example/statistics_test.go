package example_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// The files were written with TensorFlow Metadata's own messages: three features with histograms
// and rank histograms.
func TestStatisticsSayHowManyExamplesThereAre(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int64{
		"testdata/statistics/Split-train/FeatureStats.pb": 10036,
		"testdata/statistics/Split-eval/FeatureStats.pb":  4966,
		"testdata/statistics/slices.pb":                   7, // of the first of two data sets
	} {
		if got, err := example.ReadNumExamples(path); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", path, got, err, want)
		}
	}
}

// stats returns a DatasetFeatureStatisticsList with one data set of these fields.
func stats(fields ...[]byte) []byte { return message(1, fields...) }

func numExamples(n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), n)
}

func TestStatisticsAreReadAsProtocolBuffersHaveThem(t *testing.T) {
	t.Parallel()
	double := protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type), 1)
	odd := protowire.AppendFixed32(protowire.AppendTag(nil, 9, protowire.Fixed32Type), 1)
	for name, c := range map[string]struct {
		file []byte
		want int64
	}{
		"none said":               {stats(message(1, []byte("name"))), 0},
		"the last counts":         {stats(numExamples(1), double, numExamples(300)), 300},
		"after features":          {stats(message(3, make([]byte, 1<<20)), odd, numExamples(5)), 5},
		"the first data set":      {slices.Concat(message(7, []byte("later")), stats(numExamples(5)), stats(numExamples(6))), 5},
		"as many as there may be": {stats(numExamples(math.MaxInt64)), math.MaxInt64},
	} {
		if got, err := example.ParseNumExamples("f", bytes.NewReader(c.file)); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
}

func TestBadStatisticsAreNamed(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/statistics/Split-eval/FeatureStats.pb")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":                  {nil, "parse statistics f, at byte 0: no data set in it"},
		"no data set":              {message(7, []byte("later")), "no data set in it"},
		"cut":                      {good[:len(good)-1], "parse statistics f, at byte 1"},
		"cut in a length":          {[]byte{0x0a, 0x80}, "unexpected EOF"},
		"a byte too many":          {append(slices.Clone(good), 0x0a), "unexpected EOF"},
		"text":                     {[]byte("datasets { num_examples: 5 }"), "malformed protocol buffer"},
		"a field past its message": {[]byte{0x0a, 2, 0x22, 5, 1, 2, 3, 4, 5}, "malformed protocol buffer"},
		"a length of 2^63":         {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "malformed protocol buffer"},
		"a length of 2^62":         {[]byte{0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 1}, "malformed protocol buffer"},
		"field 0":                  {[]byte{0, 0}, "malformed protocol buffer"},
		"a group":                  {[]byte{0x0b, 0x0c}, "malformed protocol buffer"},
		"more than there can be":   {stats(numExamples(math.MaxInt64 + 1)), "num_examples is 9223372036854775808"},
	} {
		_, err := example.ParseNumExamples("f", bytes.NewReader(c.file))
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	_, err = example.ParseNumExamples("f", io.MultiReader(bytes.NewReader(good[:9]), iotest.ErrReader(io.ErrClosedPipe)))
	if !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, example.ErrInput) {
		t.Errorf("trouble with reading: %v", err)
	}
	if _, err := example.ReadNumExamples("testdata/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Whatever the bytes: the result is that of proto.Unmarshal, or an ErrInput.
func FuzzStatistics(f *testing.F) {
	good, err := os.ReadFile("testdata/statistics/slices.pb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(stats(numExamples(300), message(3, []byte{0x0a, 1, 'x'})))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := example.ParseNumExamples("f", bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, example.ErrInput) {
				t.Errorf("error %v is not an ErrInput", err)
			}
			return
		}
		if want, ok := slowNumExamples(file); !ok || got != want {
			t.Errorf("read %d; want %d, %v", got, want, ok)
		}
	})
}

// slowNumExamples reads with protowire what is all in memory.
func slowNumExamples(file []byte) (int64, bool) {
	for len(file) > 0 {
		number, wire, n := protowire.ConsumeTag(file)
		if n < 0 {
			return 0, false
		}
		file = file[n:]
		size := protowire.ConsumeFieldValue(number, wire, file)
		if size < 0 {
			return 0, false
		}
		if number == 1 && wire == protowire.BytesType {
			data, _ := protowire.ConsumeBytes(file)
			return lastNumExamples(data)
		}
		file = file[size:]
	}
	return 0, false
}

func lastNumExamples(dataset []byte) (last int64, ok bool) {
	for len(dataset) > 0 {
		number, wire, n := protowire.ConsumeTag(dataset)
		if n < 0 {
			return 0, false
		}
		dataset = dataset[n:]
		size := protowire.ConsumeFieldValue(number, wire, dataset)
		if size < 0 {
			return 0, false
		}
		if number == 2 && wire == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(dataset)
			last = int64(v)
		}
		dataset = dataset[size:]
	}
	return last, true
}
