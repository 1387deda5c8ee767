package example_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// numberSpec reads the files of writeNumbers.
func numberSpec() example.Spec {
	return example.Spec{{Name: "n", Kind: example.Int64, Shape: []int{1}}}
}

// writeNumbers writes a file of each name with so many records, numbered through, and returns the
// pattern for all of them.
func writeNumbers(t testing.TB, counts map[string]int) (pattern string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Split-train")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		w, err := tfrecord.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for range counts[name] {
			if err := w.Append(new(example.Builder).Int64("n", n).Build()); err != nil {
				t.Fatal(err)
			}
			n++
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*")
}

func open(t testing.TB, o example.Options) *example.Reader {
	t.Helper()
	if o.Spec == nil {
		o.Spec = numberSpec()
	}
	r, err := example.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// next reads the numbers of up to n batches; fewer if the data ends.
func next(t testing.TB, r *example.Reader, n int) (batches [][]int64) {
	t.Helper()
	for range n {
		b, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, slices.Clone(b.Column("n").Ints))
	}
	return batches
}

func upTo(n int64) (numbers []int64) {
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}

func TestTheCorpusIsReadWhole(t *testing.T) {
	t.Parallel()
	for _, set := range dataSets {
		r := open(t, example.Options{Patterns: []string{set.files}, Spec: specOf(t, set.schema), BatchSize: 100, Epochs: 1})
		rows := 0
		for b, err := r.Next(t.Context()); err != io.EOF; b, err = r.Next(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			rows += b.Rows
		}
		equal(t, set.files, rows, set.records)
	}
}

func TestFilesComeSortedAndBatchesCrossThem(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 3, "b": 4, "c-empty": 0, "d.gz": 1})
	if err := os.Mkdir(filepath.Join(filepath.Dir(pattern), "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := open(t, example.Options{Patterns: []string{pattern, pattern}, BatchSize: 5, Epochs: 1})
	equal(t, "batches", next(t, r, 9), [][]int64{{0, 1, 2, 3, 4}, {5, 6, 7}})
	equal(t, "after the end", next(t, r, 9), nil)
}

func TestThousandsOfFilesOfManyArtifactsAreOneDataSet(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for i := range 2000 {
		counts[fmt.Sprintf("data-%05d-of-02000%s", i, []string{"", ".gz"}[i%2])] = i % 3
	}
	patterns := []string{writeNumbers(t, counts), writeNumbers(t, map[string]int{"a.gz": 5}), writeNumbers(t, counts)}
	r := open(t, example.Options{Patterns: patterns, BatchSize: 100, Epochs: 1})
	want := slices.Concat(upTo(1999), upTo(5), upTo(1999))
	equal(t, "all records in order", slices.Concat(next(t, r, 100)...), want)
}

func TestEpochsFollowEachOtherWithinABatch(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a": 3})
	for name, c := range map[string]struct {
		options example.Options
		want    [][]int64
	}{
		"two epochs":         {example.Options{Epochs: 2}, [][]int64{{0, 1}, {2, 0}, {1, 2}}},
		"a last short batch": {example.Options{Epochs: 3}, [][]int64{{0, 1}, {2, 0}, {1, 2}, {0, 1}, {2}}},
		"dropped":            {example.Options{Epochs: 3, DropRemainder: true}, [][]int64{{0, 1}, {2, 0}, {1, 2}, {0, 1}}},
		"forever":            {example.Options{}, [][]int64{{0, 1}, {2, 0}, {1, 2}, {0, 1}, {2, 0}, {1, 2}}},
	} {
		c.options.Patterns, c.options.BatchSize = []string{pattern}, 2
		equal(t, name, next(t, open(t, c.options), 6), c.want)
	}
}

func TestAShuffleIsOneOrderOfAllPerSeedAndEpoch(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 7000, "b": 3000})
	read := func(seed uint64) (epochs [][]int64) {
		r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 10_000, ShuffleBuffer: 100, Seed: seed, Epochs: 2})
		return next(t, r, 2)
	}
	first, again, other := read(1), read(1), read(2)
	equal(t, "the same seed", again, first)
	if slices.Equal(first[0], other[0]) {
		t.Error("two seeds gave one order")
	}
	if slices.Equal(first[0], first[1]) {
		t.Error("two epochs have one order")
	}
	for _, epoch := range slices.Concat(first, other) {
		for i, n := range epoch {
			if int(n) >= i+100 {
				t.Fatalf("record %d came at place %d, from beyond a buffer of 100", n, i)
			}
		}
		if slices.IsSorted(epoch) {
			t.Error("nothing was shuffled")
		}
		slices.Sort(epoch)
		equal(t, "all records, each once", epoch, upTo(10_000))
	}
}

func TestSkipComesToWhereReadingWouldHave(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 30, "b": 7})
	for name, o := range map[string]example.Options{
		"in order":  {BatchSize: 5},
		"shuffled":  {BatchSize: 5, ShuffleBuffer: 10, Seed: 3},
		"long":      {BatchSize: 100, ShuffleBuffer: 10},
		"one epoch": {BatchSize: 5, Epochs: 1},
		"some":      {BatchSize: 5, Epochs: 6, ShuffleBuffer: 50},
	} {
		o.Patterns = []string{pattern}
		all := next(t, open(t, o), 60)
		for skip := 0; skip <= len(all); skip += 3 {
			r := open(t, o)
			if err := r.Skip(t.Context(), int64(skip)); err != nil {
				t.Fatalf("%s: skip %d: %v", name, skip, err)
			}
			want := all[skip:min(skip+3, len(all))]
			if got := next(t, r, len(want)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: after %d batches: %v, want %v", name, skip, got, want)
			}
			// Again from where it is now, which knows the length of an epoch.
			if err := r.Skip(t.Context(), 20); err == nil && skip+23 < len(all) {
				equal(t, fmt.Sprint(name, " skipped twice"), next(t, r, 1), all[skip+23:skip+24])
			} else if err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		// Not a whole number of epochs, and exactly one.
		for _, beyond := range []int64{61, 2 * 37, 20 * 37} {
			if err := open(t, o).Skip(t.Context(), beyond); o.Epochs > 0 != (err == io.EOF) {
				t.Errorf("%s: skip of %d batches, beyond the end: %v", name, beyond, err)
			}
		}
	}
}

func TestSkippingAMillionEpochsReadsOne(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a": 37})
	r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 37, ShuffleBuffer: 37, Seed: 4})
	if err := r.Skip(t.Context(), 1e9); err != nil {
		t.Fatal(err)
	}
	equal(t, "position", r.Position(), example.Position{Epoch: 1e9})
	if _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "position", r.Position(), example.Position{Epoch: 1e9, Record: 37})
}

func TestBadRecordsAreNamedByFileNumberAndFeature(t *testing.T) {
	t.Parallel()
	for _, shuffle := range []int{0, 5} {
		pattern := writeNumbers(t, map[string]int{"data-00000-of-00002.gz": 300, "data-00001-of-00002.gz": 290})
		w, err := tfrecord.Create(filepath.Join(filepath.Dir(pattern), "data-00001-of-00002.gz"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 280 {
			b := new(example.Builder).Int64("n", int64(i))
			if i == 270 {
				b.Float("n", 7)
			}
			if err := w.Append(b.Build()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 10, ShuffleBuffer: shuffle, Epochs: 1})
		err = firstError(t, r)
		const want = `bad record 270 in Split-train/data-00001-of-00002.gz: feature "n": data types don't match: data type is float, expected int64`
		var bad *example.Error
		if !errors.Is(err, example.ErrInput) || !errors.As(err, &bad) || err.Error() != want {
			t.Errorf("error %v", err)
		}
		if _, again := r.Next(t.Context()); again != err {
			t.Errorf("the next call gave %v", again)
		}
	}
}

func firstError(t *testing.T, r *example.Reader) error {
	for {
		if _, err := r.Next(t.Context()); err != nil {
			return err
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 3})
	file := filepath.Join(filepath.Dir(pattern), "a.gz")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"truncated":     {whole[:len(whole)-9], "Split-train/a.gz, at byte"},
		"not gzip":      {[]byte("<html>404</html>"), "record 0 of Split-train/a.gz, at byte 0: not a gzip file"},
		"gzip checksum": {append(slices.Clone(whole[:len(whole)-8]), 1, 2, 3, 4, 5, 6, 7, 8), "record 3 of Split-train/a.gz"},
	} {
		if err := os.WriteFile(file, c.bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		err := firstError(t, open(t, example.Options{Patterns: []string{pattern}, BatchSize: 2}))
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

func TestPatternsWithoutFilesAreNamed(t *testing.T) {
	t.Parallel()
	there := writeNumbers(t, map[string]int{"a": 1})
	none := filepath.Join(t.TempDir(), "Split-none", "*")
	for _, patterns := range [][]string{{there, none}, nil, {"[" + none}} {
		_, err := example.Open(example.Options{Patterns: patterns, Spec: numberSpec(), BatchSize: 1})
		if !errors.Is(err, example.ErrInput) || len(patterns) > 0 && !strings.Contains(err.Error(), patterns[len(patterns)-1]) {
			t.Errorf("%v: error %v", patterns, err)
		}
	}
	odd := filepath.Join(t.TempDir(), "odd[1].gz")
	if err := os.Rename(strings.TrimSuffix(there, "*")+"a", odd); err != nil {
		t.Fatal(err)
	}
	if files, err := example.Files(odd); err != nil || len(files) != 1 {
		t.Errorf("a path with a bracket: %v, %v", files, err)
	}
}

func TestNoRecordsEnd(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a": 0, "b.gz": 0})
	for epochs, want := range []error{example.ErrInput, io.EOF, io.EOF} {
		for _, shuffle := range []int{0, 9} {
			r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 2, Epochs: epochs, ShuffleBuffer: shuffle})
			if _, err := r.Next(t.Context()); !errors.Is(err, want) {
				t.Errorf("%d epochs of nothing: %v, want %v", epochs, err, want)
			}
			if err := r.Skip(t.Context(), 1); !errors.Is(err, want) {
				t.Errorf("skip in %d epochs of nothing: %v, want %v", epochs, err, want)
			}
		}
	}
}

func TestAnEndedContextLosesNothing(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 1000})
	r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 600, Epochs: 1})
	stop := errors.New("lease lost")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	var got []int64
	for range 20 { // each call returns what was read ahead, or notices that ctx has ended
		b, err := r.Next(ended)
		if err != nil && err != io.EOF && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if err == nil {
			got = append(got, b.Column("n").Ints...)
		}
	}
	equal(t, "numbers", slices.Concat(got, slices.Concat(next(t, r, 2)...)), upTo(1000))
}

func TestCloseEndsReadingAhead(t *testing.T) {
	pattern := writeNumbers(t, map[string]int{"a.gz": 10_000})
	before := runtime.NumGoroutine()
	for _, taken := range []int{0, 1, 2000} {
		r, err := example.Open(example.Options{Patterns: []string{pattern}, Spec: numberSpec(), BatchSize: 7})
		if err != nil {
			t.Fatal(err)
		}
		next(t, r, taken)
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(t.Context()); err == nil || err == io.EOF {
			t.Errorf("a closed reader gave %v", err)
		}
	}
	for deadline := time.Now().Add(8 * time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	pattern := []string{writeNumbers(t, map[string]int{"a": 1})}
	for _, o := range []example.Options{
		{Patterns: pattern, Spec: numberSpec()},
		{Patterns: pattern, Spec: numberSpec(), BatchSize: 1, Epochs: -1},
		{Patterns: pattern, Spec: example.Spec{{Name: "n"}}, BatchSize: 1},
	} {
		if _, err := example.Open(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
