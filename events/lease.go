package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Lease is what the entry of a job in KVLeases says: its worker, and how earlier attempts ended. It is replaced by
// compare-and-swap only, and its revision is the fence: whoever replaced it last owns the job.
//
// It holds no time. An owner counts its own time from before it wrote; others take a lease over only after they have
// seen the same revision for a whole lease length on their own monotonic clocks.
type Lease struct {
	Message    uint64              `json:"message,omitempty"` // sequence of the job's message on the queue; 0 if not known
	Holder     string              `json:"holder,omitempty"`  // id of the attempt that holds it; "" if it is free
	Number     int                 `json:"number"`            // of the last attempt, from 1
	Failures   map[FailureKind]int `json:"failures,omitempty"`
	Heartbeats uint64              `json:"heartbeats"` // heartbeats of this attempt, so that each one changes the value
	Ended      *Ended              `json:"ended,omitempty"`
	Lost       []string            `json:"lost,omitempty"` // attempts whose lease was taken over, and whose worker hasn't reported since

	Cancelled bool     `json:"cancelled,omitempty"` // asked for with Queue.Cancel, after Message was put on the queue
	GivenUp   *GivenUp `json:"given_up,omitempty"`  // the job is given up; what is left to do is to say so
}

// Ended says how the last attempt ended that has not done its job. It stays while the next one is at it.
type Ended struct {
	Attempt int         `json:"attempt"` // its number
	Kind    FailureKind `json:"kind"`
	Why     string      `json:"why"` // for people; one line, cut at maxWhy bytes
}

// GivenUp is the failure for which a job is given up. It is written before anything else says so: whoever takes the job after a worker
// that died then continues with that, and doesn't work on the job.
type GivenUp struct {
	Reason    DeadReason `json:"reason"`
	LogTail   string     `json:"log_tail,omitempty"`
	Log       string     `json:"log,omitempty"`
	Execution string     `json:"execution,omitempty"`
}

// maxGivenUp bounds each text of a GivenUp: a lease is one message.
const maxGivenUp = 64 << 10

// GivenUp is the failure as a lease holds it, with at most 64 KiB of the beginning of its message and of the end of its log.
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

// Failure is what the job was given up for.
func (g *GivenUp) Failure() *Failure {
	return &Failure{Kind: g.Reason.Kind, Err: reasoned(g.Reason), LogTail: g.LogTail, Log: g.Log, Execution: g.Execution}
}

// maxWhy is enough for an error with an address or two in it.
const maxWhy = 500

// DecodeLease reads the entry of a job in KVLeases. Of one that can't be read, which no worker wrote, the error comes with the
// lease to go on with: an attempt that nobody knows has it, and is waited out like one that died.
func DecodeLease(entry Entry) (lease Lease, err error) {
	if err := json.Unmarshal(entry.Value, &lease); err != nil {
		return Lease{Holder: unknownHolder, Number: 1}, fmt.Errorf("read lease of job %s, revision %d: %w", entry.Key, entry.Revision, err)
	}
	return lease, nil
}

// unknownHolder holds a lease that can't be read.
const unknownHolder = "unknown"

// For is what l says about one message of its job. What an earlier message left behind, by a worker that died between taking it
// off the queue and removing its lease, does not count; only its holder's name stays, for the time that it may still need
// to notice.
func (l Lease) For(message uint64) Lease {
	if l.Message != message && l.Message != 0 {
		l = Lease{Holder: l.Holder}
	}
	l.Message = message
	return l
}

// Taken is the lease once attempt holds it. An attempt at the same message that still held it has died or was cut off: it counts as
// unavailable, and as lost until its worker reports with Survived.
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

// Survived is the lease once the worker of an attempt has reported that it is alive, although it could not keep or release the lease.
// An attempt that still holds the lease releases it for why; one that was taken over is no longer lost. changed is false if the
// lease knows nothing of the attempt.
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

// Renewed is the lease after one more heartbeat.
func (l Lease) Renewed() Lease { l.Heartbeats++; return l }

// Released is the lease after its attempt ended for cause; why is for people.
func (l Lease) Released(cause FailureKind, why string) Lease {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + "…"
	}
	return Lease{Message: l.Message, Number: l.Number, Failures: counted(l.Failures, cause), Ended: &Ended{l.Number, cause, why}, Lost: l.Lost,
		Cancelled: l.Cancelled, GivenUp: l.GivenUp}
}

// Attempt describes the attempt that holds the lease.
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

// LeaseTerms are how long a lease lasts without a heartbeat, and how much of that its owner doesn't count on. Both are measured
// on the monotonic clock of whoever measures: a wall clock that is set, forward or back, changes nothing. Not even that clock
// reports a machine that was suspended, where it stands still while others take the lease over: its worker finds that out by its
// first heartbeat, and what it does until then is fenced by the store's conditional writes.
type LeaseTerms struct {
	Length time.Duration
	Margin time.Duration // for clocks that run at different speeds, and effects that are on their way
}

// Until is when a lease that was confirmed by a write begun at sent can no longer be proved.
func (t LeaseTerms) Until(sent time.Time) time.Time { return sent.Add(t.Length - t.Margin) }

// HeartbeatInterval is the time between heartbeats.
func (t LeaseTerms) HeartbeatInterval() time.Duration { return t.Length / 3 }
