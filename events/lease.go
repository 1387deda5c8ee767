package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Lease is the entry of a job in KVLeases: its worker, and how earlier attempts ended. It is only
// replaced by compare-and-swap, and its revision is the fence: the process that replaced it last
// owns the job.
//
// It holds no time. An owner counts its own time from before its write; others take a lease over
// only after they have seen the same revision for a whole lease length on their own monotonic
// clocks.
type Lease struct {
	// Sequence of the job's message on the queue; 0 if unknown.
	Message uint64 `json:"message,omitempty"`
	// Id of the attempt that holds it; "" if it is free.
	Holder   string              `json:"holder,omitempty"`
	Number   int                 `json:"number"` // of the last attempt, from 1
	Failures map[FailureKind]int `json:"failures,omitempty"`
	// Heartbeats of this attempt, so that each one changes the value.
	Heartbeats uint64 `json:"heartbeats"`
	Ended      *Ended `json:"ended,omitempty"`
	// Attempts whose lease was taken over, and whose worker hasn't reported since.
	Lost []string `json:"lost,omitempty"`

	// Requested with Queue.Cancel, after Message was put on the queue.
	Cancelled bool `json:"cancelled,omitempty"`
	// The job is given up; only the reports remain to be published.
	GivenUp *GivenUp `json:"given_up,omitempty"`
}

// Ended describes how the last unsuccessful attempt ended. It stays during the next one.
type Ended struct {
	Attempt int         `json:"attempt"` // its number
	Kind    FailureKind `json:"kind"`
	Why     string      `json:"why"` // for people; one line, truncated to maxWhy bytes
}

// GivenUp is the failure for which a job is given up. It is written before anything else reports
// it: if the worker dies, the next worker that claims the job continues with the reports, and
// doesn't work on the job.
type GivenUp struct {
	Reason    DeadReason `json:"reason"`
	LogTail   string     `json:"log_tail,omitempty"`
	Log       string     `json:"log,omitempty"`
	Execution string     `json:"execution,omitempty"`
}

// maxGivenUp limits each text of a GivenUp: a lease is one message.
const maxGivenUp = 64 << 10

// GivenUp returns the failure in the form of a lease, with at most 64 KiB of the beginning of its
// message and of the end of its log.
func (f *Failure) GivenUp() *GivenUp {
	reason, tail := f.Reason(), f.LogTail
	if len(reason.Message) > maxGivenUp {
		reason.Message = strings.ToValidUTF8(reason.Message[:maxGivenUp], "")
	}
	if len(tail) > maxGivenUp {
		tail = strings.ToValidUTF8(tail[len(tail)-maxGivenUp:], "")
	}
	return &GivenUp{Reason: reason, LogTail: tail, Log: f.Log, Execution: f.Execution}
}

// Failure returns the failure for which the job was given up.
func (g *GivenUp) Failure() *Failure {
	return &Failure{Kind: g.Reason.Kind, Err: reasoned(g.Reason), LogTail: g.LogTail, Log: g.Log, Execution: g.Execution}
}

// maxWhy is enough for an error with one or two addresses.
const maxWhy = 500

// DecodeLease reads the entry of a job in KVLeases. If it can't be read, since no worker wrote it,
// the error comes with a lease to continue with: it is held by an unknown attempt, which is waited
// out like one that died.
func DecodeLease(entry Entry) (lease Lease, err error) {
	if err := json.Unmarshal(entry.Value, &lease); err != nil {
		return Lease{Holder: unknownHolder, Number: 1}, fmt.Errorf("read lease of job %s, revision %d: %w", entry.Key, entry.Revision, err)
	}
	return lease, nil
}

// unknownHolder is the holder of a lease that can't be read.
const unknownHolder = "unknown"

// For returns the part of l that applies to one message of its job. Entries of an earlier message,
// whose worker died between taking it off the queue and removing its lease, don't count; only the
// name of its holder stays, for the time that it may still need to notice.
func (l Lease) For(message uint64) Lease {
	if l.Message != message && l.Message != 0 {
		l = Lease{Holder: l.Holder}
	}
	l.Message = message
	return l
}

// Taken returns the lease after attempt has claimed it. An attempt at the same message that still
// held it has died or was cut off: it counts as unavailable, and as lost until its worker reports
// with Survived.
func (l Lease) Taken(attempt string) Lease {
	if holder := l.Holder; holder != "" && l.Number > 0 {
		l = l.Released(FailureUnavailable, "its worker died, or was cut off")
		if holder != unknownHolder {
			l.Lost = append(slices.Clone(l.Lost), holder)
		}
	}
	return Lease{Message: l.Message, Holder: attempt, Number: l.Number + 1, Failures: l.Failures, Ended: l.Ended, Lost: l.Lost,
		Cancelled: l.Cancelled, GivenUp: l.GivenUp}
}

// Survived returns the lease after the worker of an attempt has reported that it is alive, although
// it could not keep or release the lease. An attempt that still holds the lease releases it with
// why; one that was taken over is no longer lost. changed is false if the lease does not know the
// attempt.
func (l Lease) Survived(attempt, why string) (_ Lease, changed bool) {
	if l.Holder == attempt {
		return l.Released(FailureUnavailable, why), true
	}
	at := slices.Index(l.Lost, attempt)
	if at < 0 {
		return l, false
	}
	l.Lost = slices.Delete(slices.Clone(l.Lost), at, at+1)
	return l, true
}

// Renewed returns the lease after one more heartbeat.
func (l Lease) Renewed() Lease { l.Heartbeats++; return l }

// Released returns the lease after its attempt ended for cause; why is for people.
func (l Lease) Released(cause FailureKind, why string) Lease {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + "…"
	}
	return Lease{Message: l.Message, Number: l.Number, Failures: counted(l.Failures, cause), Ended: &Ended{l.Number, cause, why}, Lost: l.Lost,
		Cancelled: l.Cancelled, GivenUp: l.GivenUp}
}

// Attempt returns the attempt that holds the lease.
func (l Lease) Attempt() Attempt {
	return Attempt{ID: l.Holder, Number: l.Number, Failures: maps.Clone(l.Failures), Lost: len(l.Lost), Cancelled: l.Cancelled, GivenUp: l.GivenUp}
}

func counted(failures map[FailureKind]int, cause FailureKind) map[FailureKind]int {
	out := maps.Clone(failures)
	if out == nil {
		out = map[FailureKind]int{}
	}
	out[cause]++
	return out
}

// LeaseTerms are how long a lease lasts without a heartbeat, and the part of that on which its
// owner does not rely. Both are measured on the monotonic clock of the measuring process, so that
// setting a wall clock has no effect. Even that clock does not report a machine that was suspended:
// it stands still while others take the lease over. Its worker finds that out by its first
// heartbeat, and its effects until then are fenced by the store's conditional writes.
type LeaseTerms struct {
	Length time.Duration
	Margin time.Duration // for clocks that run at different speeds, and effects in flight
}

// Until returns when a lease that was confirmed by a write begun at sent can no longer be proved.
func (t LeaseTerms) Until(sent time.Time) time.Time { return sent.Add(t.Length - t.Margin) }

// HeartbeatInterval returns the time between heartbeats.
func (t LeaseTerms) HeartbeatInterval() time.Duration { return t.Length / 3 }
