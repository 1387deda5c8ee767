package tfevents

import (
	"errors"
	"fmt"
	"os"
	"time"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// Options of Open. The zero value begins a new log.
type Options struct {
	// From is the first step that will be written: events in earlier files of the directory no
	// longer count from there on. A training that resumes from a checkpoint of step S sets S+1.
	From int64

	Now  func() time.Time // default: time.Now. Every event has the time; nothing else depends on it
	Host string           // in the file's name. Default: this machine's
	PID  int              // likewise. Default: this process's
}

const (
	fileVersion  = "brain.Event:2"
	sourceWriter = "stoker.compute.tfevents"

	// flushAfter is how long an event waits in memory while others follow it, so that a training
	// can be watched.
	flushAfter = 5 * time.Second
)

// Writer appends to the log of one run. It is for one goroutine at a time. It must be closed,
// because events may still be in memory.
//
// Tags are free text; TensorBoard groups them by the part before the first slash. Steps are the
// x-axis of a curve, usually batches, and must increase from one call to the next with the same
// tag.
type Writer struct {
	file    *os.File
	records *tfrecord.Writer
	now     func() time.Time
	flushed time.Time
	size    int64 // bytes of events so far, about
}

// Open begins a new event file in dir, which it creates if needed. The same options, clock and
// calls give the same bytes.
func Open(dir string, o Options) (*Writer, error) {
	o = o.withDefaults()
	now := o.Now()
	f, err := create(dir, now, o)
	if err != nil {
		return nil, fmt.Errorf("open run log: %w", err)
	}
	w := &Writer{file: f, records: tfrecord.NewWriter(f), now: o.Now, flushed: now}
	if err := w.begin(now, o.From); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname() // without one: localhost
	}
	o.Host = plainHost(o.Host)
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	return o
}

// begin writes the first events of a file: its version, and the step from which it counts.
// TensorBoard takes the first session of a run as its beginning and voids steps at all later ones.
func (w *Writer) begin(now time.Time, from int64) error {
	version := &eventpb.Event{
		WallTime: seconds(now), What: &eventpb.Event_FileVersion{FileVersion: fileVersion},
		SourceMetadata: &eventpb.SourceMetadata{Writer: sourceWriter},
	}
	session := &eventpb.Event{
		WallTime: seconds(now), Step: from,
		What: &eventpb.Event_SessionLog{SessionLog: &eventpb.SessionLog{Status: eventpb.SessionLog_START}},
	}
	return errors.Join(w.append(version), w.append(session), w.Flush())
}

// Scalar logs one number, kept as a float32.
func (w *Writer) Scalar(step int64, tag string, value float64) error {
	return w.add(step, scalarValue(tag, value))
}

// Histogram logs the distribution of values, in 30 buckets as Buckets makes them.
func (w *Writer) Histogram(step int64, tag string, values []float32) error {
	return w.add(step, histogramValue(tag, Buckets(values, bucketCount)))
}

// Text logs a text, which TensorBoard displays as Markdown.
func (w *Writer) Text(step int64, tag, text string) error {
	return w.add(step, textValue(tag, text))
}

func (w *Writer) add(step int64, v *summarypb.Summary_Value) error {
	now := w.now()
	err := w.append(&eventpb.Event{
		WallTime: seconds(now), Step: step,
		What: &eventpb.Event_Summary{Summary: &summarypb.Summary{Value: []*summarypb.Summary_Value{v}}},
	})
	if err != nil {
		return fmt.Errorf("log %s of step %d: %w", v.Tag, step, err)
	}
	if now.Sub(w.flushed) >= flushAfter {
		return w.Flush()
	}
	return nil
}

func (w *Writer) append(e *eventpb.Event) error {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err) // a tag that is not UTF-8
	}
	w.size += int64(len(data))
	return w.records.Append(data)
}

// Name returns the path of the file that is being written.
func (w *Writer) Name() string { return w.file.Name() }

// Flush writes all events to the file, for readers while it grows.
func (w *Writer) Flush() error {
	w.flushed = w.now()
	return w.records.Flush()
}

// Close ends the file.
func (w *Writer) Close() error { return errors.Join(w.records.Close(), w.file.Close()) }

// seconds returns the time of an event: since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
