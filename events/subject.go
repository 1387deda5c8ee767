package events

import (
	"fmt"
	"strconv"
	"strings"
)

// The streams that keep messages.
const (
	StreamEvents  = "EVENTS"
	StreamJobs    = "JOBS"
	StreamDead    = "DEAD"
	StreamStudies = "STUDIES"
	StreamBuckets = "BUCKETS" // notifications of object stores
	StreamWorkers = "WORKERS" // the last heartbeat of each worker; see WorkerFeed
)

// The first token of each stream's subjects.
const (
	eventToken    = "events"
	jobToken      = "jobs"
	deadToken     = "dead"
	studyToken    = "studies"
	bucketToken   = "buckets"
	progressToken = "progress"
	workerToken   = "workers"
	hostsToken    = "hosts" // of requests, which no stream keeps
)

// StreamOf returns the stream that keeps messages on a subject; "" if none does.
func StreamOf(subject string) string {
	token, rest, _ := strings.Cut(subject, ".")
	if rest == "" {
		return ""
	}
	return map[string]string{
		eventToken: StreamEvents, jobToken: StreamJobs, deadToken: StreamDead, studyToken: StreamStudies, bucketToken: StreamBuckets,
		workerToken: StreamWorkers,
	}[token]
}

// EventSubject returns the subject of an event: events.<kind>.<pipeline>.<run>.<id>, the kind with
// dashes for dots.
func EventSubject(f Event) string {
	return join(eventToken, kindToken(f.Data.Kind()), f.Pipeline, Escape(f.Run), Escape(f.ID))
}

// ParseEventSubject returns the run in the subject of an event, whatever its content; false for a
// subject that names none.
func ParseEventSubject(subject string) (pipeline, run string, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 4 || tokens[0] != eventToken {
		return "", "", false
	}
	run, err := Unescape(tokens[3])
	return tokens[2], run, err == nil
}

// ParseEventKind returns the kind and the pipeline in the subject of an event, whatever its
// content; false for a subject that names none, or none of the known kinds.
func ParseEventKind(subject string) (kind Kind, pipeline string, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 3 || tokens[0] != eventToken {
		return "", "", false
	}
	for _, kind := range Kinds() {
		if kindToken(kind) == tokens[1] {
			return kind, tokens[2], true
		}
	}
	return "", "", false
}

// EventFilters returns the subjects that match the kinds, pipeline and run of q. No two of them
// overlap.
func EventFilters(q Query) []string {
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = []Kind{""}
	}
	var filters []string
	for _, kind := range kinds {
		filters = append(filters, eventFilter(kindToken(kind), q.Pipeline, q.Run))
	}
	return filters
}

func eventFilter(kind, pipeline, run string) string {
	switch {
	case run != "":
		return join(eventToken, orAny(kind), orAny(pipeline), Escape(run), ">")
	case pipeline != "":
		return join(eventToken, orAny(kind), pipeline, ">")
	case kind != "":
		return join(eventToken, kind, ">")
	default:
		return join(eventToken, ">")
	}
}

// CheckEventSubject returns an error unless an event was published on its own subject. A
// publisher's permissions are by subject, so the content must agree.
func CheckEventSubject(f Event, subject string) error {
	if want := EventSubject(f); subject != want {
		return invalid("NATS subject", want, subject)
	}
	return nil
}

// JobSubject returns the subject of a job: jobs.<function>.<class>.<job>.
func JobSubject(j Job) string { return join(jobToken, string(j.Function), j.Class, j.ID) }

// JobFilter matches the jobs of one function and class.
func JobFilter(f Function, class string) string { return join(jobToken, string(f), class, "*") }

// ParseJobFilter is the inverse of JobFilter; false for the filter of something else.
func ParseJobFilter(filter string) (f Function, class string, ok bool) {
	tokens := strings.Split(filter, ".")
	if len(tokens) != 4 || tokens[0] != jobToken || tokens[3] != "*" {
		return "", "", false
	}
	f, class = Function(tokens[1]), tokens[2]
	return f, class, CheckName("function", tokens[1]) == nil && CheckClass("class", class) == nil
}

// JobFilterAny matches the job of that id, whatever its function and class.
func JobFilterAny(job string) string { return join(jobToken, "*", "*", job) }

// JobID is the last token of a job's subject.
func JobID(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// ProgressSubject returns the subject of progress: progress.<pipeline>.<run>.<job>; a part of a log
// is below that.
func ProgressSubject(p Progress) string {
	if p.Log != nil {
		return logSubject(p)
	}
	return join(progressToken, p.Pipeline, Escape(p.Run), p.Job)
}

// ProgressFilter matches the progress of a pipeline and a run; "" matches all.
func ProgressFilter(pipeline, run string) string {
	if run != "" {
		run = Escape(run)
	}
	return join(progressToken, orAny(pipeline), orAny(run), "*")
}

// StudySubject returns the subject of a study's log: studies.<pipeline>.<id>.
func StudySubject(s Study) string { return join(studyToken, s.Pipeline, s.ID) }

// StudyFilter matches the logs of a pipeline's studies; "" matches all.
func StudyFilter(pipeline string) string { return join(studyToken, orAny(pipeline), "*") }

// ParseStudySubject is the inverse of StudySubject; false for a subject that names no study.
func ParseStudySubject(subject string) (Study, bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 3 || tokens[0] != studyToken {
		return Study{}, false
	}
	study := Study{Pipeline: tokens[1], ID: tokens[2]}
	return study, study.Validate() == nil
}

// BucketSubject is the subject of a store's notifications: buckets.<from>. The store chooses from.
func BucketSubject(from string) string { return join(bucketToken, from) }

// ParseBucketSubject is the inverse of BucketSubject; false for a subject of another stream.
func ParseBucketSubject(subject string) (from string, ok bool) {
	return strings.CutPrefix(subject, bucketToken+".")
}

// WorkerSubject returns the subject of a worker's heartbeats: workers.<class>.<id>, with the first
// of its classes, so that permissions can say whose workers may write it.
func WorkerSubject(w WorkerStatus) string {
	class := ""
	if len(w.Classes) > 0 {
		class = w.Classes[0]
	}
	return join(workerToken, class, w.ID)
}

// WorkerFilter matches the heartbeats of the workers of a class.
func WorkerFilter(class string) string { return join(workerToken, class, "*") }

// HostSubject is where a host of a group is asked: hosts.<class>.<group>.<rank>. class is that of
// the group's workers.
func HostSubject(class, group string, rank int) string {
	return join(hostsToken, class, group, strconv.Itoa(rank))
}

// HostsFilter matches the subjects of all hosts of a class, and of the replies to them.
func HostsFilter(class string) string { return join(hostsToken, class, ">") }

// The subjects of each stream.
const (
	EventsFilter  = eventToken + ".>"
	JobsFilter    = jobToken + ".>"
	DeadFilter    = deadToken + ".>"
	StudiesFilter = studyToken + ".>"
	BucketsFilter = bucketToken + ".>"
	WorkersFilter = workerToken + ".>"
)

// DeadSubject returns the subject of a message's dead letter: dead.<stream>.<sequence>.<digest>, so
// that each message has one. A stream that is removed and created again restarts at sequence 1: the
// digest is of the message's subject, time and body, so that no two messages share a subject.
func DeadSubject(m Message) string {
	digest := DerivedID(m.Subject, strconv.FormatInt(m.Stored.UnixNano(), 10), string(m.Body))
	return join(DeadPrefix(m.Stream, m.Sequence), digest)
}

// DeadPrefix returns the prefix of the subjects of the dead letters for a sequence of a stream.
func DeadPrefix(stream string, sequence uint64) string {
	return join(deadToken, stream, strconv.FormatUint(sequence, 10))
}

func kindToken(kind Kind) string { return strings.ReplaceAll(string(kind), ".", "-") }

func join(tokens ...string) string { return strings.Join(tokens, ".") }

func orAny(token string) string {
	if token == "" {
		return "*"
	}
	return token
}

const escapeDigits = "0123456789ABCDEF"

// Escape turns any text into one token of a NATS subject, which is also a key of a NATS KV bucket.
// Letters, digits, _, - and / stay; every other byte becomes = and two hexadecimal digits; the
// empty text becomes "=".
func Escape(text string) string {
	if text == "" {
		return "="
	}
	var out strings.Builder
	for _, b := range []byte(text) {
		if isToken(b) {
			out.WriteByte(b)
			continue
		}
		out.Write([]byte{'=', escapeDigits[b>>4], escapeDigits[b&15]})
	}
	return out.String()
}

// Unescape is the inverse of Escape. It returns an error for a token that Escape does not produce.
func Unescape(token string) (string, error) {
	if token == "=" {
		return "", nil
	}
	var out []byte
	for i := 0; i < len(token); i++ {
		b := token[i]
		if b == '=' {
			if i+2 >= len(token) {
				return "", fmt.Errorf("unescape %q: incomplete escape at byte %d", token, i)
			}
			high, low := strings.IndexByte(escapeDigits, token[i+1]), strings.IndexByte(escapeDigits, token[i+2])
			b = byte(high<<4 | low)
			if high < 0 || low < 0 || isToken(b) {
				return "", fmt.Errorf("unescape %q: %q at byte %d is not an escape", token, token[i:i+3], i)
			}
			i += 2
		} else if !isToken(b) {
			return "", fmt.Errorf("unescape %q: byte %d must be escaped", token, i)
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		return "", fmt.Errorf("unescape: empty token")
	}
	return string(out), nil
}

func isToken(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '/'
}
