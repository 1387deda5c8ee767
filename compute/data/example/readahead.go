package example

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

const (
	blockRecords = 256
	blockBytes   = 1 << 20
	blocksAhead  = 4

	// largeBlock is the size from which a block, which then has one record, is read only when all
	// others are finished.
	largeBlock = 16 << 20
)

// errEpochEnd is returned by a source between the last record of an epoch and the first of the
// next.
var errEpochEnd = errors.New("end of epoch")

// rec is one record of a file, serialized.
type rec struct {
	data   []byte // valid until the next call of next
	file   int    // index of the file
	number int64  // position in the file, from 0
}

// source yields records: files read ahead, or a shuffle of those. next puts the next ones into to,
// and returns how many: at least one, unless there is an error, which is errEpochEnd after each
// epoch, io.EOF after the last. They stay valid until the next call of next.
type source interface {
	next(ctx context.Context, to []rec) (int, error)
}

// ahead reads files in a goroutine of its own, epoch after epoch, a bounded number of blocks ahead
// of its reader.
type ahead struct {
	files  []string
	full   chan *block
	free   chan *block
	done   chan struct{} // closed to end the goroutine
	ending sync.Once
	ended  sync.WaitGroup
	reader *tfrecord.Reader // of the goroutine

	// Used by the reader.
	block *block
	place int
}

// block is some records of one file, and what follows them.
type block struct {
	data  []byte
	ends  []int // end of each record in data
	file  int
	first int64 // number of the first record
	// After the records: nil if there are more, errEpochEnd at the end of an epoch, any other error
	// at the end of all.
	err error
}

// readAhead begins to read at the start of epoch; with epochs 0 it never ends.
func readAhead(files []string, epoch, epochs, maxRecord int) *ahead {
	a := &ahead{
		files: files,
		full:  make(chan *block, blocksAhead),
		free:  make(chan *block, blocksAhead+2), // one more is being filled, and one is in use
		done:  make(chan struct{}),

		reader: tfrecord.NewReader("", nil),
	}
	a.reader.Limit(maxRecord)
	for range cap(a.free) {
		a.free <- &block{}
	}
	a.ended.Go(func() { a.run(epoch, epochs) })
	return a
}

// close ends the goroutine and waits for it.
func (a *ahead) close() {
	a.ending.Do(func() { close(a.done) })
	a.ended.Wait()
}

// next implements source.
func (a *ahead) next(ctx context.Context, to []rec) (int, error) {
	for a.block == nil || a.place == len(a.block.ends) {
		if err := a.nextBlock(ctx); err != nil {
			return 0, err
		}
	}
	b := a.block
	n := min(len(to), len(b.ends)-a.place)
	start := 0
	if a.place > 0 {
		start = b.ends[a.place-1]
	}
	for i := range n {
		end := b.ends[a.place+i]
		to[i] = rec{data: b.data[start:end:end], file: b.file, number: b.first + int64(a.place+i)}
		start = end
	}
	a.place += n
	return n, nil
}

// nextBlock returns the used block, and takes the next.
func (a *ahead) nextBlock(ctx context.Context) error {
	if b := a.block; b != nil {
		err := b.err
		if err != nil && err != errEpochEnd {
			return err // also from every later call: the block is kept
		}
		a.block = nil
		a.free <- b
		if err != nil {
			return err
		}
	}
	select {
	case a.block = <-a.full:
		a.place = 0
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run is the goroutine: it reads epochs until the last, an error, or close.
func (a *ahead) run(epoch, epochs int) {
	for ; epochs == 0 || epoch < epochs; epoch++ {
		records, err := a.readEpoch()
		if err == nil && records == 0 && epochs == 0 {
			err = inputError{fmt.Errorf("read examples: no records in %d files", len(a.files))}
		}
		if err == nil {
			err = errEpochEnd
		}
		if !a.finish(err) || err != errEpochEnd {
			return
		}
	}
	a.finish(io.EOF)
}

// finish passes on what follows the records; false means that the reader was closed.
func (a *ahead) finish(err error) bool {
	b := a.empty()
	if b == nil {
		return false
	}
	b.err = err
	return a.pass(b)
}

func (a *ahead) readEpoch() (records int64, err error) {
	for i := range a.files {
		n, err := a.readFile(i)
		records += n
		if err != nil {
			return records, err
		}
	}
	return records, nil
}

var errClosed = errors.New("reader is closed")

func (a *ahead) readFile(file int) (records int64, err error) {
	f, err := os.Open(a.files[file])
	if err != nil {
		return 0, fmt.Errorf("read examples: %w", err)
	}
	defer f.Close()
	r := a.reader
	r.Reset(shortName(a.files[file]), f)
	for {
		b := a.empty()
		if b == nil {
			return records, errClosed
		}
		b.file, b.first = file, records
		err := b.fill(r)
		records += int64(len(b.ends))
		if !a.pass(b) {
			return records, errClosed
		}
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, framingError(err)
		}
	}
}

// fill copies records into the block until it is full. The error is the one that stopped it.
func (b *block) fill(r *tfrecord.Reader) error {
	for len(b.ends) < blockRecords && len(b.data) < blockBytes {
		data, err := r.Next()
		if err != nil {
			return err
		}
		b.data = append(b.data, data...)
		b.ends = append(b.ends, len(b.data))
	}
	return nil
}

// empty waits for a block that has been returned; nil means that the reader was closed.
func (a *ahead) empty() *block {
	select {
	case b := <-a.free:
		b.data, b.ends, b.err = b.data[:0], b.ends[:0], nil
		if cap(b.data) > largeBlock {
			b.data = nil
		}
		return b
	case <-a.done:
		return nil
	}
}

func (a *ahead) pass(b *block) bool {
	if len(b.data) > largeBlock && !a.alone() {
		return false
	}
	select {
	case a.full <- b:
		return true
	case <-a.done:
		return false
	}
}

// alone waits until all blocks except the one that is being filled have been returned: large ones
// don't wait at the same time.
func (a *ahead) alone() bool {
	var back []*block
	defer func() {
		for _, b := range back {
			a.free <- b
		}
	}()
	for range cap(a.free) - 1 {
		select {
		case b := <-a.free:
			b.data = nil
			back = append(back, b)
		case <-a.done:
			return false
		}
	}
	return true
}
