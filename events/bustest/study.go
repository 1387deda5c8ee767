package bustest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// AppendStudy implements events.StudyLog.
func (m *Memory) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (uint64, error) {
	if err := study.Validate(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	subject := events.StudySubject(study)
	if err := m.usable(ctx); err != nil {
		return 0, fmt.Errorf("append to %s: %w", subject, err)
	}
	if last := m.studies.newest(subject); last != after {
		return 0, fmt.Errorf("append to %s after entry %d: %w: it is at %d", subject, after, events.ErrConflict, last)
	}
	if err := checkSize(body); err != nil {
		return 0, fmt.Errorf("append to %s: %w", subject, err)
	}
	message := m.studies.add(subject, nil, body)
	m.wake()
	return message.Sequence, nil
}

// ReadStudy implements events.StudyLog.
func (m *Memory) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		if err := study.Validate(); err != nil {
			yield(events.StudyEntry{}, err)
			return
		}
		for next := after; ; {
			entry, last, err := m.studyEntry(ctx, study, next, follow)
			if err != nil && !(follow && ctx.Err() != nil) {
				yield(events.StudyEntry{}, fmt.Errorf("read %s: %w", events.StudySubject(study), err))
			}
			if err != nil || last || !yield(entry, nil) {
				return
			}
			next = entry.Sequence
		}
	}
}

// studyEntry returns the first entry of a study after after. last means that there is none yet;
// with follow it is awaited.
func (m *Memory) studyEntry(ctx context.Context, study events.Study, after uint64, follow bool) (entry events.StudyEntry, last bool, err error) {
	const unbounded = 1 << 62
	wait := time.Duration(0)
	if follow {
		wait = unbounded
	}
	last = true
	err = m.await(ctx, wait, func(time.Time) (bool, time.Time) {
		// None is ever removed.
		for _, message := range m.studies.messages[min(after, m.studies.last):] {
			if message.Subject == events.StudySubject(study) {
				entry, last = entryOf(study, message), false
				return true, time.Time{}
			}
		}
		return !follow, time.Time{}
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return entry, last, err
}

// Studies implements events.StudyLog.
func (m *Memory) Studies(ctx context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return m.listStudies(ctx, pipeline, (*stream).all)
}

// listStudies yields the newest entries in the messages that choose returns, which is called with
// m.mu held.
func (m *Memory) listStudies(ctx context.Context, pipeline string, choose func(studies *stream) []events.Message) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		m.mu.Lock()
		messages, err := choose(&m.studies), m.usable(ctx)
		m.mu.Unlock()
		if err != nil {
			yield(events.StudyEntry{}, fmt.Errorf("list studies: %w", err))
			return
		}
		for _, entry := range newestEntries(messages, pipeline) {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func newestEntries(messages []events.Message, pipeline string) (newest []events.StudyEntry) {
	seen := map[string]bool{}
	for _, message := range slices.Backward(messages) {
		study, ok := events.ParseStudySubject(message.Subject)
		if !ok || seen[message.Subject] || !matches(events.StudyFilter(pipeline), message.Subject) {
			continue
		}
		seen[message.Subject] = true
		newest = append(newest, entryOf(study, message))
	}
	slices.Reverse(newest)
	return newest
}

func entryOf(study events.Study, message events.Message) events.StudyEntry {
	return events.StudyEntry{Study: study, Sequence: message.Sequence, Stored: message.Stored, Body: slices.Clone(message.Body)}
}

// newest returns the sequence of the last message on subject, 0 if there is none.
func (s *stream) newest(subject string) uint64 {
	for _, message := range slices.Backward(s.messages) {
		if message.Subject == subject {
			return message.Sequence
		}
	}
	return 0
}
