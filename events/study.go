package events

import (
	"context"
	"iter"
	"time"
)

// Study names the log of one search for hyperparameters.
type Study struct {
	Pipeline string
	ID       string // of the search's execution, in hexadecimal digits
}

// Validate says what is wrong with the name of a study.
func (s Study) Validate() error {
	return first(CheckName("pipeline", s.Pipeline), CheckJobID("study", s.ID))
}

// StudyEntry is one append to a study's log.
type StudyEntry struct {
	Study    Study
	Sequence uint64 // in the stream of all studies: rises along a log, with gaps
	Stored   time.Time
	Body     []byte
}

// StudyLog keeps a log for each study, for good. Logs are independent of each other.
type StudyLog interface {
	// AppendStudy adds an entry behind the one with sequence after, 0 for the first of a log, and returns its sequence. ErrConflict if
	// that is not the newest entry: then the log is to be read on from there. An answer that was lost is an error, and is not looked
	// after: whoever appends again finds its own entry, by ErrConflict.
	AppendStudy(ctx context.Context, study Study, body []byte, after uint64) (sequence uint64, err error)
	// ReadStudy yields the entries behind sequence after, in their order, and ends at the newest; with follow it goes on with new
	// ones until ctx ends. A log that nobody has begun has no entries. Without follow it is complete at the leader of the stream: it
	// yields every entry that was acknowledged before the call. With follow it reads any copy.
	ReadStudy(ctx context.Context, study Study, after uint64, follow bool) iter.Seq2[StudyEntry, error]
	// Studies yields the newest entry of each study of a pipeline, or of all for "", in the order of their sequence, as some copy of
	// the stream has them.
	Studies(ctx context.Context, pipeline string) iter.Seq2[StudyEntry, error]
}
