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

// Validate returns an error if the name of the study is invalid.
func (s Study) Validate() error {
	return first(CheckName("pipeline", s.Pipeline), CheckJobID("study", s.ID))
}

// StudyEntry is one append to a study's log.
type StudyEntry struct {
	Study    Study
	Sequence uint64 // in the stream of all studies: ascending within a log, with gaps
	Stored   time.Time
	Body     []byte
}

// StudyLog keeps a log for each study, permanently. Logs are independent of each other.
type StudyLog interface {
	// AppendStudy appends an entry after the one with sequence after, 0 for the first of a log, and
	// returns its sequence. The error is ErrConflict if that is not the newest entry: read the log
	// from there. A lost answer is an error and is not resolved here: a caller that appends again
	// gets ErrConflict and finds its own entry.
	AppendStudy(ctx context.Context, study Study, body []byte, after uint64) (sequence uint64, err error)
	// ReadStudy yields the entries after sequence after, in order, and ends at the newest; with
	// follow it continues with new ones until ctx ends. A log that does not exist has no entries.
	// Without follow the leader of the stream answers: it yields every entry that was acknowledged
	// before the call. With follow any copy answers.
	ReadStudy(ctx context.Context, study Study, after uint64, follow bool) iter.Seq2[StudyEntry, error]
	// Studies yields the newest entry of each study of a pipeline, or of all pipelines for "", in
	// the order of their sequence. Any copy of the stream answers.
	Studies(ctx context.Context, pipeline string) iter.Seq2[StudyEntry, error]
}
