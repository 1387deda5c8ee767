package tensorbundle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// memoryShard is a data file in memory.
type memoryShard struct{ *bytes.Reader }

func (memoryShard) Close() error { return nil }

func (m memoryShard) Length() (int64, error) { return m.Size(), nil }

func FuzzBundle(f *testing.F) {
	prefix := filepath.Join("testdata", "penguin", "variables")
	seed(f, prefix)
	seed(f, filepath.Join("testdata", "partitioned", "model.ckpt"))
	own := filepath.Join(f.TempDir(), "v")
	if err := Write(own, manyTensors()); err != nil {
		f.Fatal(err)
	}
	seed(f, own)
	f.Fuzz(func(t *testing.T, index, data []byte) {
		b, err := parse(index)
		if err != nil {
			return
		}
		b.open = func(string) (shardFile, error) { return memoryShard{bytes.NewReader(data)}, nil }
		if b.CheckFiles() != nil && b.readAll() == nil {
			t.Error("values that can be read are said to lie outside of their file")
		}
		if b.readAll() == nil && len(b.Variables()) > len(index) {
			t.Errorf("%d variables in an index of %d bytes", len(b.Variables()), len(index))
		}
	})
}

func seed(f *testing.F, prefix string) {
	f.Helper()
	index, err := os.ReadFile(prefix + ".index")
	data, dataErr := os.ReadFile(dataFile(prefix, 0, 1))
	if err := errors.Join(err, dataErr); err != nil {
		f.Fatal(err)
	}
	f.Add(index, data)
}

// FuzzBlock gets past the checksums of FuzzBundle.
func FuzzBlock(f *testing.F) {
	var block tableBlock
	for _, t := range manyTensors()[:40] {
		block.add(t.Key, []byte("value"))
	}
	file, _ := block.appendTo(nil)
	f.Add(file[:len(file)-blockTrailer])
	f.Fuzz(func(t *testing.T, block []byte) {
		entries, err := parseBlock(block)
		total := 0
		for _, e := range entries {
			total += len(e.key) + len(e.value)
		}
		if err == nil && total > (maxKeyGrowth+1)*len(block) {
			t.Errorf("%d bytes of entries in a block of %d", total, len(block))
		}
	})
}
