package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// AppendStudy implements events.Studies.
func (b *Letterbox) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (sequence uint64, err error) {
	if err := study.Validate(); err != nil {
		return 0, err
	}
	msg := &nats.Msg{Subject: events.StudySubject(study), Header: nats.Header{"Content-Type": {"application/json"}}, Data: body}
	if sequence, err = b.behind(ctx, msg, after); err != nil {
		return 0, fmt.Errorf("append to %s behind %d: %w", msg.Subject, after, err)
	}
	return sequence, nil
}

// ReadStudy implements events.Studies.
func (b *Letterbox) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	if err := study.Validate(); err != nil {
		return failing[events.StudyEntry](err)
	}
	return func(yield func(events.StudyEntry, error) bool) {
		subject := events.StudySubject(study)
		read := func(entry events.StudyEntry, err error) bool {
			if err == nil {
				after = entry.Sequence
			}
			return yield(entry, err)
		}
		if after != 0 && !follow && !b.readOn(ctx, study, after, read) {
			return
		}
		for message, err := range (&scan{box: b, stream: events.StreamStudies, filters: []string{subject}, next: after + 1, follow: follow}).messages(ctx) {
			if err != nil {
				yield(events.StudyEntry{}, fmt.Errorf("read %s: %w", subject, b.explain(ctx, err)))
				return
			}
			if !yield(studyEntry(study, message), nil) {
				return
			}
		}
	}
}

// readOnMost is how many entries are asked for one by one. More of them come cheaper through a consumer.
const readOnMost = 16

// readOn yields the first few entries behind after. Who works on a study reads on often, and finds one or none: one question to the
// server, where a consumer takes three. more says that there may be more, and that yield wants them.
func (b *Letterbox) readOn(ctx context.Context, study events.Study, after uint64, yield func(events.StudyEntry, error) bool) (more bool) {
	ctx, done := b.untilClosed(ctx)
	defer done()
	for range readOnMost {
		entry, err := b.nextEntryOf(ctx, study, after)
		if errors.Is(err, events.ErrNotFound) {
			return false
		}
		if !yield(entry, err) || err != nil {
			return false
		}
		after = entry.Sequence
	}
	return true
}

// nextEntryOf is the first entry of a study behind after.
func (b *Letterbox) nextEntryOf(ctx context.Context, study events.Study, after uint64) (events.StudyEntry, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	subject := events.StudySubject(study)
	stream, err := b.studies(ctx)
	var raw *jetstream.RawStreamMsg
	if err == nil {
		raw, err = stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(subject))
	}
	if err != nil {
		return events.StudyEntry{}, fmt.Errorf("read %s behind %d: %w", subject, after, b.explain(ctx, err))
	}
	return studyEntry(study, messageOf(events.StreamStudies, raw)), nil
}

// studies is the stream. Looking it up is a question to the server, so it is kept.
func (b *Letterbox) studies(ctx context.Context) (jetstream.Stream, error) {
	if known := b.studyLogs.Load(); known != nil {
		return *known, nil
	}
	stream, err := b.js.Stream(ctx, events.StreamStudies)
	if err == nil {
		b.studyLogs.Store(&stream)
	}
	return stream, err
}

// Studies implements events.Studies. Messages that another hand put where no study's log is are passed over.
func (b *Letterbox) Studies(ctx context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		shown := map[events.Study]bool{}
		scan := scan{box: b, stream: events.StreamStudies, filters: []string{events.StudyFilter(pipeline)}, newest: true}
		for message, err := range scan.messages(ctx) {
			if err != nil {
				yield(events.StudyEntry{}, fmt.Errorf("list studies: %w", b.explain(ctx, err)))
				return
			}
			study, ok := events.ParseStudySubject(message.Subject)
			if !ok || shown[study] {
				continue
			}
			shown[study] = true
			if !yield(studyEntry(study, message), nil) {
				return
			}
		}
	}
}

func studyEntry(study events.Study, message events.Message) events.StudyEntry {
	return events.StudyEntry{Study: study, Sequence: message.Sequence, Stored: message.Stored, Body: message.Body}
}
