package tfrecord_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// readAll reads records until an error, which is nil for a clean end.
func readAll(r *tfrecord.Reader) (records [][]byte, err error) {
	for {
		data, err := r.Next()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, bytes.Clone(data))
	}
}

// framed returns records as a plain file.
func framed(t testing.TB, records ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tfrecord.NewWriter(&out)
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFilesOfTensorFlowAreRead(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{
		"testdata/penguin-eval.gz":     100, // gzip, from TFX's ExampleGen
		"testdata/events.out.tfevents": 5,   // plain, from TensorBoard's callback in TFX's Trainer
	} {
		r, err := tfrecord.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		records, err := readAll(r)
		if err != nil || len(records) != want {
			t.Errorf("%s: %d records, error %v; want %d", file, len(records), err, want)
		}
		if r.Gzip() != strings.HasSuffix(file, ".gz") {
			t.Errorf("%s: gzip is %v", file, r.Gzip())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	var want [][]byte
	for _, size := range []int{0, 1, 1000, 256<<10 - 17, 256<<10 - 4, 256<<10 - 3, 256 << 10, 3 << 20, 5} {
		want = append(want, bytes.Repeat([]byte{byte(size), 7}, size)[:size])
	}
	for _, name := range []string{"plain", "zipped.gz"} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, want)
		r, err := tfrecord.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := readAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: read %d records, want %d", name, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: record %d of %d bytes came back as %d bytes, or other ones", name, i, len(want[i]), len(got[i]))
			}
		}
	}
}

func write(t *testing.T, path string, records [][]byte) {
	t.Helper()
	w, err := tfrecord.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFlushedRecordsAreReadWhileTheFileGrows(t *testing.T) {
	t.Parallel()
	for _, begin := range map[string]func(io.Writer) *tfrecord.Writer{"plain": tfrecord.NewWriter, "gzip": tfrecord.NewGzipWriter} {
		var out bytes.Buffer
		w := begin(&out)
		if err := errors.Join(w.Append([]byte("one")), w.Flush()); err != nil {
			t.Fatal(err)
		}
		got, err := tfrecord.NewReader("growing", &out).Next()
		if err != nil || string(got) != "one" {
			t.Errorf("read %q, %v", got, err)
		}
	}
}

func TestDamageIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	plain := framed(t, []byte("first"), []byte("second"))
	const second = 12 + 5 + 4 // byte at which the second record begins
	gz := zipped(t, plain)
	cases := map[string]struct {
		name  string
		bytes []byte
		want  error
		place string
	}{
		"cut in a length":   {"f", plain[:second+3], tfrecord.ErrTruncated, "record 1 of f, at byte 21: truncated"},
		"cut in the data":   {"f", plain[:second+14], tfrecord.ErrTruncated, "record 1 of f, at byte 21"},
		"cut in a checksum": {"f", plain[:len(plain)-1], tfrecord.ErrTruncated, "record 1 of f, at byte 21"},
		"length changed":    {"f", flip(plain, second), tfrecord.ErrLengthChecksum, "record 1 of f, at byte 21"},
		"length's checksum": {"f", flip(plain, 8), tfrecord.ErrLengthChecksum, "record 0 of f, at byte 0"},
		"data changed":      {"f", flip(plain, second+12), tfrecord.ErrDataChecksum, "record 1 of f, at byte 21"},
		"data's checksum":   {"f", flip(plain, len(plain)-1), tfrecord.ErrDataChecksum, "record 1 of f, at byte 21"},
		"text": {"f", []byte("culmen_length_mm,species\n"), tfrecord.ErrLengthChecksum,
			"record 0 of f, at byte 0: checksum of the length does not match: a text file, like CSV or JSON: TFRecord is read, plain or gzip"},
		"Parquet": {"f", []byte("PAR1\x15\x04\x15\x10\x15\x14\x4c\x15"), tfrecord.ErrLengthChecksum,
			"record 0 of f, at byte 0: checksum of the length does not match: a Parquet file: TFRecord is read, plain or gzip"},
		"zstd":                   {"f.gz", []byte("\x28\xb5\x2f\xfd............"), tfrecord.ErrNotGzip, "a zstd file"},
		"plain, but named .gz":   {"f.gz", plain, tfrecord.ErrNotGzip, "record 0 of f.gz"},
		"nothing, but named .gz": {"f.gz", nil, tfrecord.ErrNotGzip, "record 0 of f.gz"},
		"gzip cut in its header": {"f.gz", gz[:5], tfrecord.ErrTruncated, "record 0 of f.gz"},
		"gzip cut":               {"f.gz", gz[:len(gz)-12], tfrecord.ErrTruncated, "in the middle of the gzip stream"},
		"gzip's own checksum":    {"f.gz", flip(gz, len(gz)-8), tfrecord.ErrGzip, "record 2 of f.gz, at byte 43"},
		"gzip's own length":      {"f.gz", flip(gz, len(gz)-1), tfrecord.ErrGzip, "record 2 of f.gz, at byte 43"},
		"gzip's own code":        {"f.gz", flip(gz, 10), tfrecord.ErrGzip, "record 0 of f.gz"},
		"rest after gzip":        {"f.gz", append(bytes.Clone(gz), "more"...), tfrecord.ErrTruncated, "record 2 of f.gz"},
	}
	for name, c := range cases {
		r := tfrecord.NewReader(c.name, bytes.NewReader(c.bytes))
		_, err := readAll(r)
		if !errors.Is(err, c.want) || !tfrecord.Corrupt(err) || !strings.Contains(err.Error(), c.place) {
			t.Errorf("%s: error %v; want %q and %q in it", name, err, c.want, c.place)
		}
		if _, again := r.Next(); again != err {
			t.Errorf("%s: a second call gave %v, not the error of the first", name, again)
		}
	}
}

func TestOnlyAWholeFileIsInAnotherFormat(t *testing.T) {
	t.Parallel()
	file := append(framed(t, []byte("first")), "PAR1 and so on"...)
	_, err := readAll(tfrecord.NewReader("f", bytes.NewReader(file)))
	if err == nil || err.Error() != "record 1 of f, at byte 21: checksum of the length does not match" {
		t.Errorf("error is %v", err)
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x06
	return b
}

func TestEveryFlippedBitAndEveryCutOfAPlainFileIsSeen(t *testing.T) {
	t.Parallel()
	file := framed(t, []byte("first"), nil, []byte("third"))
	for i := range file {
		for bit := range 8 {
			bad := bytes.Clone(file)
			bad[i] ^= 1 << bit
			if _, err := readAll(tfrecord.NewReader("f", bytes.NewReader(bad))); !tfrecord.Corrupt(err) {
				t.Errorf("byte %d, bit %d flipped: error %v", i, bit, err)
			}
		}
		_, err := readAll(tfrecord.NewReader("f", bytes.NewReader(file[:i])))
		if clean := i == 0 || i == 21 || i == 37; clean != (err == nil) {
			t.Errorf("cut at byte %d: error %v", i, err)
		}
	}
}

func TestRecordsBeforeTheDamageAreGiven(t *testing.T) {
	t.Parallel()
	plain := framed(t, []byte("first"), []byte("second"))
	records, err := readAll(tfrecord.NewReader("f", bytes.NewReader(plain[:len(plain)-1])))
	if len(records) != 1 || string(records[0]) != "first" || err == nil {
		t.Errorf("read %q, %v", records, err)
	}
}

// The first bytes of a plain file are a length. One that looks like gzip's magic must not be taken
// for it.
func TestAPlainFileThatBeginsLikeGzipIsPlain(t *testing.T) {
	t.Parallel()
	file := framed(t, make([]byte, 0x088b1f))
	if !bytes.HasPrefix(file, []byte{0x1f, 0x8b, 8}) {
		t.Fatal("the file does not begin like gzip")
	}
	r := tfrecord.NewReader("f", bytes.NewReader(file))
	if records, err := readAll(r); len(records) != 1 || err != nil || r.Gzip() {
		t.Errorf("%d records, %v, gzip is %v", len(records), err, r.Gzip())
	}
}

func TestSeveralGzipStreamsInOneFileAreOneFile(t *testing.T) {
	t.Parallel()
	file := append(zipped(t, framed(t, []byte("a"))), zipped(t, framed(t, []byte("b")))...)
	if records, err := readAll(tfrecord.NewReader("f.gz", bytes.NewReader(file))); len(records) != 2 || err != nil {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// Not parallel, because it measures the memory of the whole process.
func TestALengthAloneTakesNoMemory(t *testing.T) {
	head := make([]byte, 12)
	for length, want := range map[uint64]error{1 << 31: tfrecord.ErrTooLong, 1<<64 - 1: tfrecord.ErrTooLong, 1<<31 - 1: tfrecord.ErrTooLong, 256<<20 + 1: tfrecord.ErrTooLong, 256 << 20: tfrecord.ErrTruncated} {
		binary.LittleEndian.PutUint64(head, length)
		binary.LittleEndian.PutUint32(head[8:], tfrecord.Checksum(head[:8]))
		r := tfrecord.NewReader("f", bytes.NewReader(append(bytes.Clone(head), "few bytes"...)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := r.Next()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, want) {
			t.Errorf("length %d: error %v, want %v", length, err, want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
			t.Errorf("length %d: %d bytes allocated for 9 bytes of data", length, took)
		}
	}
}

func TestTroubleWithReadingIsNotDamage(t *testing.T) {
	t.Parallel()
	away := errors.New("disk is away")
	plain := framed(t, []byte("first"), []byte("second"))
	for name, good := range map[string][]byte{"plain": plain[:20], "f.gz": zipped(t, plain)[:12], "none.gz": nil} {
		in := io.MultiReader(bytes.NewReader(good), iotest.ErrReader(away))
		_, err := readAll(tfrecord.NewReader(name, in))
		if !errors.Is(err, away) || tfrecord.Corrupt(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := tfrecord.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestAReaderThatIsResetKnowsNothingOfItsPast(t *testing.T) {
	t.Parallel()
	good := framed(t, []byte("first"), bytes.Repeat([]byte("long"), 1<<18))
	bad := flip(good, len(good)-1)
	r := tfrecord.NewReader("first", bytes.NewReader(nil))
	for range 2 {
		for name, c := range map[string]struct {
			bytes []byte
			want  error
		}{"plain": {good, nil}, "zipped.gz": {zipped(t, good), nil}, "damaged": {bad, tfrecord.ErrDataChecksum}, "cut.gz": {zipped(t, bad)[:9], tfrecord.ErrTruncated}} {
			r.Reset(name, bytes.NewReader(c.bytes))
			records, err := readAll(r)
			if !errors.Is(err, c.want) || err == nil && len(records) != 2 {
				t.Errorf("%s: %d records, error %v, want %v", name, len(records), err, c.want)
			}
			r.Close()
		}
	}
}

func TestAClosedReaderReadsNothing(t *testing.T) {
	t.Parallel()
	r, err := tfrecord.Open("testdata/penguin-eval.gz")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// Whatever the bytes, a reader ends without a panic, and its records, written again, are the
// beginning of the plain bytes.
func FuzzReader(f *testing.F) {
	for _, file := range []string{"testdata/penguin-eval.gz", "testdata/events.out.tfevents"} {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add(framed(f, nil, []byte("x"), bytes.Repeat([]byte("y"), 300)))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := readAll(tfrecord.NewReader("f", bytes.NewReader(b)))
		again := framed(t, records...)
		if bytes.HasPrefix(b, []byte{0x1f, 0x8b, 8}) {
			return
		}
		if !bytes.HasPrefix(b, again) || (err == nil) != (len(b) == len(again)) {
			t.Errorf("%d bytes were read as %d records of %d bytes, error %v", len(b), len(records), len(again), err)
		}
	})
}

func ExampleReader() {
	var file bytes.Buffer
	w := tfrecord.NewWriter(&file)
	w.Append([]byte("one"))
	w.Append([]byte("two"))
	w.Close()

	r := tfrecord.NewReader("numbers.tfrecord", &file)
	for {
		data, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", data)
	}
	// Output:
	// one
	// two
}

// A record that is longer than the limit is refused by its head, also in a compressed file: it is
// not inflated, and needs no memory.
func TestRecordsOverTheLimitAreRefusedBeforeTheyAreRead(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var head []byte
	head = binary.LittleEndian.AppendUint64(head, tfrecord.DefaultLimit+1)
	head = binary.LittleEndian.AppendUint32(head, tfrecord.Checksum(head))
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(framed(t, []byte("small")))
	z.Write(head)
	for range tfrecord.DefaultLimit >> 20 {
		z.Write(zeros)
	}
	z.Close()
	file := filepath.Join(t.TempDir(), "bomb.gz")
	if err := os.WriteFile(file, bomb.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := tfrecord.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records, err := readAll(r)
	runtime.ReadMemStats(&after)
	var at *tfrecord.Error
	if !errors.Is(err, tfrecord.ErrTooLong) || !errors.As(err, &at) || at.File != file || at.Record != 1 || len(records) != 1 || !tfrecord.Corrupt(err) {
		t.Errorf("%d records, error %v, want one that names %s and record 1", len(records), err, file)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 16<<20 {
		t.Errorf("a file of %d bytes took %d MiB", bomb.Len(), made>>20)
	}
}

func TestTheLimitOfARecordIsSet(t *testing.T) {
	t.Parallel()
	file := framed(t, make([]byte, 10), make([]byte, 100), make([]byte, 11))
	for limit, want := range map[int]int{9: 0, 10: 1, 100: 3} {
		r := tfrecord.NewReader("f", bytes.NewReader(file))
		r.Limit(limit)
		records, err := readAll(r)
		if len(records) != want || (err == nil) != (want == 3) || err != nil && !errors.Is(err, tfrecord.ErrTooLong) {
			t.Errorf("limit %d: %d records, error %v", limit, len(records), err)
		}
		r.Reset("again", bytes.NewReader(file)) // keeps the limit
		if again, _ := readAll(r); len(again) != want {
			t.Errorf("limit %d: %d records of another file", limit, len(again))
		}
	}
}
