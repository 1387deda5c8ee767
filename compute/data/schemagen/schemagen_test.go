package schemagen_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/schemagen"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

const keptSchemas = "testdata/tfdv.json.gz"

func kept(t *testing.T) (schemas []string) {
	t.Helper()
	f, err := os.Open(keptSchemas)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&schemas); err != nil {
		t.Fatal(err)
	}
	return schemas
}

func writeGzip(path string, text []byte) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(text)
	return errors.Join(err, z.Close(), os.WriteFile(path, packed.Bytes(), 0o644))
}

// The schemas of 150 sets of random splits, of which 90 are tf.SequenceExamples, are those of
// TensorFlow Data Validation 1.16.1, byte for byte.
func TestInfersWhatTensorFlowDataValidationInfers(t *testing.T) {
	t.Parallel()
	want := kept(t)
	for i, c := range inferCases() {
		var splits []*schemagen.Statistics
		for n, records := range c.Splits {
			s := schemagen.NewStatistics(fmt.Sprint(n))
			for _, r := range records {
				if err := s.Add(r); err != nil {
					t.Fatal(err)
				}
			}
			splits = append(splits, s)
		}
		got, err := schemagen.Infer(schemagen.Options{NoShape: !c.Shape, MaxStringDomain: c.Domain}, splits...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], string(got.Text())); diff != "" {
			t.Errorf("case %d: -TensorFlow Data Validation +ours\n%s", i, diff)
		}
		read, err := example.ParseSchema("schema.pbtxt", bytes.NewReader(got.Text()))
		if err == nil {
			_, err = read.Tensors()
		}
		if err != nil {
			t.Errorf("case %d: not read back: %v", i, err)
		}
	}
}

func statisticsOf(t *testing.T, split string, pattern string) *schemagen.Statistics {
	t.Helper()
	files, err := example.Files(pattern)
	if err != nil {
		t.Fatal(err)
	}
	s := schemagen.NewStatistics(split)
	for _, file := range files {
		r, err := tfrecord.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			data, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = s.Add(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// The schemas that SchemaGen made from the Palmer penguins and from the Chicago taxi trips, byte
// for byte. Of the 10,036 trips of the train split, testdata has the 52 that first show a value of
// a string, or an empty or a present list of a feature: no other affects the schema.
func TestInfersTheSchemasThatSchemaGenMade(t *testing.T) {
	t.Parallel()
	for data, train := range map[string]string{"penguin": "../example/testdata/penguin/examples/Split-train/*", "taxi": "testdata/taxi-train.tfrecord.gz"} {
		dir := filepath.Join("../example/testdata", data)
		got, err := schemagen.Infer(schemagen.Options{MaxStringDomain: schemagen.DefaultMaxStringDomain},
			statisticsOf(t, "train", train), statisticsOf(t, "eval", filepath.Join(dir, "examples/Split-eval/*")))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, "schema/schema.pbtxt"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got.Text())); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	}
}

func TestNamesTheFeatureAndTheRecord(t *testing.T) {
	t.Parallel()
	var one, other, step example.Builder
	one.Int64("a", 1).Int64Steps("a", []int64{1})
	other.Float("a", 1)
	step.Int64Steps("a", nil).FloatSteps("b", []float32{1}).FloatSteps("a", []float32{1})
	mixed := bytes.Replace(new(example.Builder).Int64Steps("b", []int64{1}, []int64{1}).Build(), []byte{5, 0x1a, 3, 10, 1, 1}, []byte{5, 0x0a, 3, 10, 1, 1}, 1)
	for name, c := range map[string]struct {
		record []byte
		want   string
	}{
		"kinds":     {other.Build(), `feature "a": values are float, those of an earlier record or step int64`},
		"lists":     {step.Build(), `feature "a": step 0: values are float, those of an earlier record or step int64`},
		"steps":     {mixed, `feature "b": step 1: values are int64, those of an earlier record or step string`},
		"bytes":     {[]byte{10, 200}, "malformed"},
		"in a step": {[]byte{18, 11, 10, 9, 10, 1, 'a', 18, 4, 10, 2, 26, 9}, "malformed"},
		"name":      {new(example.Builder).Int64(strings.Repeat("x", 5000)).Build(), "the name of a feature has 5000 bytes"},
		"utf8":      {new(example.Builder).Int64("\xff").Build(), "not valid UTF-8"},
	} {
		s := schemagen.NewStatistics("train")
		if err := s.Add(one.Build()); err != nil {
			t.Fatal(err)
		}
		err := s.Add(c.record)
		var bad *example.Error
		if !errors.As(err, &bad) || bad.Record != 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q of record 1", name, err, c.want)
		}
	}
}

func TestKeepsABoundedNumberOfFeaturesAndStrings(t *testing.T) {
	t.Parallel()
	s := schemagen.NewStatistics("train")
	var err error
	for i := 0; err == nil && i < 20_000; i++ {
		err = s.Add(new(example.Builder).Int64(fmt.Sprint("f", i), 1).Build())
	}
	if err == nil || !strings.Contains(err.Error(), "more than 10000 features") {
		t.Errorf("got %v", err)
	}
	train, eval := schemagen.NewStatistics("train"), schemagen.NewStatistics("eval")
	if err := train.Add(new(example.Builder).String("id", "a").String("text", "short").Build()); err != nil {
		t.Fatal(err)
	}
	for i := range 1001 {
		if err := eval.Add(new(example.Builder).String("id", fmt.Sprint("w", i)).String("text", strings.Repeat(fmt.Sprint(i%3), 600_000)).Build()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := schemagen.Infer(schemagen.Options{MaxStringDomain: 100}, train, eval)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got.Text()); strings.Contains(text, "domain") || len(got.Notes) != 2 || !slices.Contains(got.Notes, `feature "id" has too many distinct values in split eval: domain dropped`) {
		t.Errorf("%s%q", text, got.Notes)
	}
}

func TestRefusesSplitsWithoutRecordsAndWrongLimits(t *testing.T) {
	t.Parallel()
	empty := schemagen.NewStatistics("eval")
	if _, err := schemagen.Infer(schemagen.Options{}, empty); !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), `"eval"`) {
		t.Errorf("got %v", err)
	}
	plain, sequence := schemagen.NewStatistics("train"), schemagen.NewStatistics("eval")
	if err := errors.Join(plain.Add(new(example.Builder).Int64("##SEQUENCE##", 1).Build()), sequence.Add(new(example.Builder).Int64Steps("a").Build())); err != nil {
		t.Fatal(err)
	}
	if _, err := schemagen.Infer(schemagen.Options{}, plain, sequence); !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), `split "train" has a feature "##SEQUENCE##"`) {
		t.Errorf("got %v", err)
	}
	if _, err := schemagen.Infer(schemagen.Options{}, plain, plain); err != nil {
		t.Errorf("a feature of that name alone: %v", err)
	}
	if _, err := schemagen.Infer(schemagen.Options{MaxStringDomain: 1001}, empty); err == nil || !strings.Contains(err.Error(), "expected 0 to 1000") {
		t.Errorf("got %v", err)
	}
}

// Whatever the bytes are, they are refused or make a schema that can be read.
func FuzzAdd(f *testing.F) {
	all := inferCases()
	for _, c := range slices.Concat(all[:4], all[len(all)-6:]) {
		f.Add(c.Splits[0][0], c.Splits[0][len(c.Splits[0])-1])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		train, eval := schemagen.NewStatistics("train"), schemagen.NewStatistics("eval")
		if train.Add(a) != nil || eval.Add(b) != nil {
			return
		}
		s, err := schemagen.Infer(schemagen.Options{MaxStringDomain: 2}, train, eval)
		if err != nil {
			return
		}
		if _, err := example.ParseSchema("schema.pbtxt", bytes.NewReader(s.Text())); err != nil && !errors.Is(err, example.ErrInput) {
			t.Errorf("%v:\n%s", err, s.Text())
		}
	})
}

// A value or a list in many small parts is not copied once for each: such a record would take
// hours.
func TestAValueInManyPartsIsCopiedAFewTimes(t *testing.T) {
	const parts = 100_000
	message := func(number protowire.Number, content ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(content...))
	}
	name := message(1, []byte("a"))
	for of, value := range map[string][]byte{
		// An Int64List in parts of one integer.
		"list": message(2, bytes.Repeat(message(3, []byte{1 << 3, 1}), parts)),
		// A Feature in parts of an empty FloatList.
		"value": bytes.Repeat(message(2, message(2)), parts),
	} {
		record := message(1, message(1, name, value))
		before := bytes.Clone(record)
		s := schemagen.NewStatistics("train")
		if copies := testing.AllocsPerRun(1, func() {
			if err := s.Add(record); err != nil {
				t.Error(err)
			}
		}); copies > 1000 {
			t.Errorf("%s: %v copies", of, copies)
		}
		if !bytes.Equal(record, before) {
			t.Errorf("%s: the record was written to", of)
		}
	}
}
