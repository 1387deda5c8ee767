package jetstream

import (
	"context"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// AppendStudy implements events.StudyLog.
func (b *Bus) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (sequence uint64, err error) {
	if err := study.Validate(); err != nil {
		return 0, err
	}
	msg := &nats.Msg{Subject: events.StudySubject(study), Header: nats.Header{"Content-Type": {"application/json"}}, Data: body}
	if sequence, err = b.behind(ctx, msg, after); err != nil {
		return 0, fmt.Errorf("append to %s after entry %d: %w", msg.Subject, after, err)
	}
	return sequence, nil
}

// ReadStudy implements events.StudyLog.
func (b *Bus) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	if err := study.Validate(); err != nil {
		return failing[events.StudyEntry](err)
	}
	return func(yield func(events.StudyEntry, error) bool) {
		subject := events.StudySubject(study)
		scan := scan{bus: b, stream: events.StreamStudies, filters: []string{subject}, next: after + 1, follow: follow}
		// A worker of a study reads often, and finds one entry or none.
		scan.complete, scan.few = !follow, after != 0 && !follow
		for message, err := range scan.messages(ctx) {
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

// Studies implements events.StudyLog. Foreign messages that are not in a study's log are skipped.
func (b *Bus) Studies(ctx context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		shown := map[events.Study]bool{}
		scan := scan{bus: b, stream: events.StreamStudies, filters: []string{events.StudyFilter(pipeline)}, newest: true}
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
