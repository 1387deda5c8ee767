package example

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Options configure what a Reader reads, and how. They follow tf.data's pipeline of TFX's
// DataAccessor: files in order, shuffle within an epoch, repeat, batch. So a batch may contain the
// end of one epoch and the beginning of the next.
type Options struct {
	Patterns  []string // as for Files
	Spec      Spec
	BatchSize int // rows, 1 or more

	Epochs        int  // how often the data is read; 0 repeats it endlessly
	DropRemainder bool // leave out a last batch with fewer rows than BatchSize

	// ShuffleBuffer is the number of records from which the next one is drawn at random; up to 1
	// keeps the order. The order is reproducible from Seed, and each epoch has another one.
	ShuffleBuffer int
	Seed          uint64

	// Only returns whether a record is read, by its number in the files in their order, from 0;
	// nil: all are. The shuffle buffer, the batches and Skip know only these records, as if the
	// others were not in the files. It is called in ascending order in each epoch, by one goroutine
	// at a time.
	Only func(record int64) bool

	MaxRecord int // bytes of a record; 0 is tfrecord.CurrentLimit
	// Limits the records of one batch, and those in the shuffle buffer; 0 is DefaultMaxBytes.
	MaxBytes int64

	Logger *slog.Logger // nil: silent
}

// DefaultMaxBytes limits the records that are in memory at once: a small compressed file may
// contain any number of large ones.
const DefaultMaxBytes = 1 << 30

// Reader reads batches. It is for one goroutine at a time. A goroutine of its own reads and
// decompresses some records ahead; Close ends it.
type Reader struct {
	options Options
	files   []string
	names   []string // of files, in errors
	decoder *Decoder

	batch     *Batch
	delivered bool  // batch was returned by Next, and its rows are no longer in use
	bytes     int64 // of the records in batch

	ahead    *ahead
	records  source
	window   []rec // the records that were last taken from src
	position Position
	size     int64 // records in an epoch; 0 before the first has been read
	err      error // once set, what every later call of Next returns
}

// Position is a Reader's position in the data.
type Position struct {
	Epoch  int   // from 0
	Record int64 // records read in this epoch
}

// Open finds the files and begins to read them. The caller must Close the Reader.
func Open(o Options) (*Reader, error) {
	if o.BatchSize < 1 || o.Epochs < 0 {
		return nil, fmt.Errorf("open examples: batch size %d must be 1 or more, epochs %d must not be negative", o.BatchSize, o.Epochs)
	}
	o.MaxRecord, o.MaxBytes = cmp.Or(o.MaxRecord, tfrecord.CurrentLimit()), cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if o.MaxRecord < 0 || o.MaxBytes < 0 {
		return nil, fmt.Errorf("open examples: limits of %d and %d bytes must not be negative", o.MaxRecord, o.MaxBytes)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	files, err := Files(o.Patterns...)
	if err != nil {
		return nil, err
	}
	decoder, err := NewDecoder(o.Spec)
	if err != nil {
		return nil, err
	}
	o.Logger.Debug("reading examples", "patterns", o.Patterns, "files", len(files))
	r := &Reader{options: o, files: files, names: shortNames(files), decoder: decoder, batch: NewBatch(o.Spec), window: make([]rec, chunkRows)}
	r.start(0)
	return r, nil
}

// Close ends reading ahead and waits for it.
func (r *Reader) Close() error {
	r.ahead.close()
	if r.err == nil {
		r.err = errors.New("read examples: reader is closed")
	}
	return nil
}

// Position returns the reader's position: Next and Skip change it.
func (r *Reader) Position() Position { return r.position }

// start begins to read at the start of an epoch.
func (r *Reader) start(epoch int) {
	r.position = Position{Epoch: epoch}
	r.ahead = readAhead(r.files, epoch, r.options.Epochs, r.options.MaxRecord)
	r.records = r.ahead
	if r.options.Only != nil {
		r.records = &chosen{from: r.ahead, only: r.options.Only}
	}
	if r.options.ShuffleBuffer > 1 {
		r.records = newShuffle(r.records, r.options.ShuffleBuffer, r.options.MaxBytes, r.options.Seed, epoch)
	}
}

// Next returns the next batch, which stays valid until the next call. At the end of the last epoch
// the error is io.EOF. An error that has ErrInput in its chain names the file and the record. After
// ctx has ended, Next may be called again, and nothing is lost.
func (r *Reader) Next(ctx context.Context) (*Batch, error) {
	if r.delivered {
		r.batch.Reset()
		r.delivered, r.bytes = false, 0
	}
	for r.batch.Rows < r.options.BatchSize {
		records, err := r.next(ctx, r.options.BatchSize-r.batch.Rows)
		if err == io.EOF && r.batch.Rows > 0 && !r.options.DropRemainder {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := r.append(records); err != nil {
			return nil, err
		}
	}
	r.delivered = true
	return r.batch, nil
}

// append appends records to the batch, and where they come from.
func (r *Reader) append(records []rec) error {
	for _, rec := range records {
		if r.bytes += int64(len(rec.data)); r.bytes > r.options.MaxBytes {
			r.err = r.locate(&Error{Err: fmt.Errorf("the records of a batch have more than %d bytes: choose a smaller batch", r.options.MaxBytes)}, rec)
			return r.err
		}
	}
	n, err := r.decoder.appendAll(r.batch, records)
	if err != nil {
		r.err = r.locate(err, records[n])
		return r.err
	}
	for i := range records {
		r.batch.Origins = append(r.batch.Origins, Origin{r.names[records[i].file], records[i].number})
	}
	return nil
}

// next returns the next records, at least one and at most so many, continuing from epoch to epoch.
// They stay valid until the next call.
func (r *Reader) next(ctx context.Context, most int) ([]rec, error) {
	for r.err == nil {
		n, err := r.records.next(ctx, r.window[:min(most, len(r.window))])
		switch {
		case err == nil:
			r.position.Record += int64(n)
			return r.window[:n], nil
		case err == errEpochEnd:
			r.size = r.position.Record
			r.position = Position{Epoch: r.position.Epoch + 1}
		case ctx.Err() != nil:
			return nil, err
		default:
			r.err = err
		}
	}
	return nil, r.err
}

// Skip skips some batches without parsing them, to the position of a training that is resumed. Once
// it knows how many records an epoch has, it skips whole epochs without reading them. It returns
// io.EOF if there are fewer batches than to be skipped.
func (r *Reader) Skip(ctx context.Context, batches int64) error {
	r.batch.Reset()
	r.bytes = 0
	left := batches * int64(r.options.BatchSize)
	for r.skipEpochs(&left); left > 0; r.skipEpochs(&left) {
		records, err := r.next(ctx, int(min(left, chunkRows)))
		if inLastBatch := left < int64(r.options.BatchSize); err == io.EOF && inLastBatch && !r.options.DropRemainder {
			return nil
		}
		if err != nil {
			return err
		}
		left -= int64(len(records))
	}
	return nil
}

// skipEpochs skips as many whole epochs as fit in left, if their length is known.
func (r *Reader) skipEpochs(left *int64) {
	if r.size == 0 || r.err != nil {
		return
	}
	target := r.position.Record + *left // counted from the start of the current epoch
	epochs := target / r.size
	if r.options.Epochs > 0 {
		epochs = min(epochs, int64(r.options.Epochs-r.position.Epoch))
	}
	if epochs > 0 {
		*left = target - epochs*r.size
		r.ahead.close()
		r.start(r.position.Epoch + int(epochs))
	}
}

func (r *Reader) locate(err error, at rec) error {
	var bad *Error
	if errors.As(err, &bad) {
		bad.File, bad.Record = r.names[at.file], at.number
	}
	return err
}
