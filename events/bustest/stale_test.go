package bustest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// two is a bus with two clients: one that writes, and one whose reads are counted.
type two struct {
	*testing.T
	writer, reader events.Bus
	n              int // of the key, event, job and study that the next round writes
}

const rounds = 100

// countOld returns how many of the reads of a client miss an earlier write, by name.
func countOld(t *testing.T, staleness bustest.Staleness) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for name, misses := range oldReads {
		stale := bustest.NewStale(bustest.NewMemory(0))
		b := &two{
			T:      t,
			writer: stale.Client(rand.New(rand.NewPCG(1, 1)), bustest.OnlyByContract),
			reader: stale.Client(rand.New(rand.NewPCG(2, 2)), staleness),
		}
		for b.n = range rounds {
			if misses(b) {
				counts[name]++
			}
		}
	}
	return counts
}

func (b *two) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *two) key() string { return fmt.Sprint("k", b.n) }

func (b *two) open(bus events.Bus, name string) events.KV {
	b.Helper()
	kv, err := bus.KV(b.Context(), name)
	b.must(err)
	return kv
}

func (b *two) create() (revision uint64) {
	b.Helper()
	revision, err := b.open(b.writer, events.KVJoins).Create(b.Context(), b.key(), nil)
	b.must(err)
	return revision
}

func (b *two) joins() events.KV { return b.open(b.reader, events.KVJoins) }

// conflict makes a write of the reader fail.
func (b *two) conflict() {
	b.Helper()
	if _, err := b.joins().Create(b.Context(), b.key(), nil); !errors.Is(err, events.ErrConflict) {
		b.Fatalf("got %v, want a conflict", err)
	}
}

func (b *two) getMisses(revision uint64) bool {
	got, err := b.joins().Get(b.Context(), b.key())
	return err != nil || got.Revision != revision
}

func (b *two) publish(bus events.Bus) (sequence uint64) {
	b.Helper()
	receipt, err := bus.Publish(b.Context(), b.event())
	b.must(err)
	return receipt.Sequence
}

func (b *two) event() events.Event {
	return events.Event{ID: b.key(), Source: "/test", Pipeline: "penguin", Run: "r", Time: time.Now(), Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
}

func (b *two) job() events.Job {
	return events.Job{
		ID: b.key(), Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "r", Spec: []byte("{}"),
		Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "1", Sequence: 1}},
	}
}

func (b *two) study() events.Study {
	return events.Study{Pipeline: "penguin", ID: fmt.Sprintf("%04x", b.n)}
}

func (b *two) append() (sequence uint64) {
	b.Helper()
	sequence, err := b.writer.AppendStudy(b.Context(), b.study(), nil, 0)
	b.must(err)
	return sequence
}

func (b *two) deadLetter() events.DeadLetter {
	return events.DeadLetter{Message: events.Message{Stream: events.StreamEvents, Sequence: uint64(b.n + 1)}}
}

// lacks reports whether no listed item is wanted.
func lacks[T any](list iter.Seq2[T, error], wanted func(T) bool) bool {
	for item, err := range list {
		if err == nil && wanted(item) {
			return false
		}
	}
	return true
}

// late reports whether a message that was just published arrives only after a while.
func late(published time.Time, follow func(context.Context)) bool {
	follow(context.Background())
	return time.Since(published) > 0
}

// firstOf reads until an item is wanted.
func firstOf[T any](follow func(context.Context) iter.Seq2[T, error], wanted func(T) bool) func(context.Context) {
	return func(ctx context.Context) {
		for item, err := range follow(ctx) {
			if err == nil && wanted(item) {
				return
			}
		}
	}
}

// whileUnacknowledged reports whether a read misses a message whose publisher has no
// acknowledgement yet.
func whileUnacknowledged(write func(), misses func() bool) (missed bool) {
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		write()
	}()
	synctest.Wait()
	missed = misses()
	<-wrote
	return missed
}

// oldReads are the reads of a bus that may miss a write. Each reports whether it has.
var oldReads = map[string]func(b *two) bool{
	"Get": func(b *two) bool { return b.getMisses(b.create()) },
	"Get after a conflict": func(b *two) bool {
		revision := b.create()
		b.conflict()
		return b.getMisses(revision)
	},
	"Get what was read, after a conflict": func(b *two) bool {
		revision := b.create()
		_, _ = b.joins().Get(b.Context(), b.key())
		b.conflict()
		return b.getMisses(revision)
	},
	"Get after a conflict and Sync": func(b *two) bool {
		revision := b.create()
		b.conflict()
		b.must(b.joins().Sync(b.Context()))
		return b.getMisses(revision)
	},
	"Get after a write of its own": func(b *two) bool {
		revision, err := b.joins().Create(b.Context(), b.key(), nil)
		b.must(err)
		return b.getMisses(revision)
	},
	"Revision": func(b *two) bool {
		_, err := b.joins().Revision(b.Context(), b.key(), b.create())
		return err != nil
	},
	"All": func(b *two) bool {
		b.create()
		return lacks(b.joins().All(b.Context()), func(e events.Copy) bool { return e.Key == b.key() })
	},
	"All of its own": func(b *two) bool {
		_, err := b.joins().Create(b.Context(), b.key(), nil)
		b.must(err)
		return lacks(b.joins().All(b.Context()), func(e events.Copy) bool { return e.Key == b.key() })
	},
	"All after a deletion": func(b *two) bool {
		b.must(b.open(b.writer, events.KVJoins).Delete(b.Context(), b.key(), b.create()))
		return !lacks(b.joins().All(b.Context()), func(e events.Copy) bool { return e.Key == b.key() })
	},
	"All of several moments": func(b *two) bool {
		b.create()
		b.n += rounds
		b.create()
		b.n -= rounds
		later, earlier := fmt.Sprint("k", b.n+rounds), b.key()
		keys := map[string]bool{}
		for entry, err := range b.joins().All(b.Context()) {
			b.must(err)
			keys[entry.Key] = true
		}
		return keys[later] && !keys[earlier]
	},
	"All leases": func(b *two) bool {
		b.must(b.writer.Enqueue(b.Context(), b.job()))
		claim, err := b.writer.Claim(b.Context(), events.FunctionTrain, []string{"cpu"}, time.Minute)
		b.must(err)
		lacking := lacks(b.open(b.reader, events.KVLeases).All(b.Context()), func(e events.Copy) bool { return e.Key == b.key() })
		b.must(claim.Ack(b.Context()))
		return lacking
	},
	"begin of Watch": func(b *two) bool {
		revision := b.create()
		for entry, err := range b.joins().Watch(b.Context()) {
			b.must(err)
			if entry.Revision == 0 || entry.Revision == revision {
				return entry.Revision == 0
			}
		}
		return false
	},
	"Watch": func(b *two) bool {
		began := time.Now()
		watch := func(ctx context.Context) iter.Seq2[events.Copy, error] { return b.joins().Watch(ctx) }
		revision := b.create()
		return late(began, firstOf(watch, func(e events.Copy) bool { return e.Revision == revision }))
	},
	"Watch each write": func(b *two) bool {
		next, stop := iter.Pull2(b.joins().Watch(b.Context()))
		defer stop()
		for entry, err, _ := next(); entry.Revision != 0; entry, err, _ = next() {
			b.must(err)
		}
		first := b.create()
		second, err := b.open(b.writer, events.KVJoins).Update(b.Context(), b.key(), nil, first)
		b.must(err)
		seen := false
		for entry, err, _ := next(); entry.Revision < second; entry, err, _ = next() {
			b.must(err)
			seen = seen || entry.Revision == first
		}
		return !seen
	},
	"Read": func(b *two) bool {
		sequence := b.publish(b.writer)
		return lacks(b.reader.Read(b.Context(), events.Query{}), func(r events.Recorded) bool { return r.Message.Sequence == sequence })
	},
	"Read before the acknowledgement": func(b *two) bool {
		return whileUnacknowledged(func() { b.publish(b.writer) }, func() bool {
			return lacks(b.reader.Read(b.Context(), events.Query{}), func(r events.Recorded) bool { return r.Event.ID == b.key() })
		})
	},
	"Read what another caller saw": func(b *two) bool {
		return whileUnacknowledged(func() { b.publish(b.writer) }, func() bool {
			b.publish(b.reader)
			return lacks(b.reader.Read(b.Context(), events.Query{}), func(r events.Recorded) bool { return r.Event.ID == b.key() })
		})
	},
	"Read, following": func(b *two) bool {
		follow := func(ctx context.Context) iter.Seq2[events.Recorded, error] {
			return b.reader.Read(ctx, events.Query{Follow: true})
		}
		began := time.Now()
		go b.publish(b.writer)
		return late(began, firstOf(follow, func(r events.Recorded) bool { return r.Event.ID == b.key() }))
	},
	"Follow": func(b *two) bool {
		b.publish(b.writer)
		return late(time.Now(), func(ctx context.Context) {
			delivery, err := b.reader.Follow(ctx, "reader", time.Minute)
			b.must(err)
			b.must(delivery.Ack(ctx))
		})
	},
	"Follow without waiting": func(b *two) bool {
		b.publish(b.writer)
		_, err := b.reader.Follow(b.Context(), b.key(), 0)
		return errors.Is(err, events.ErrEmpty)
	},
	"FollowBuckets": func(b *two) bool {
		b.must(b.writer.Notify(b.Context(), "primary", nil))
		return late(time.Now(), func(ctx context.Context) {
			delivery, err := b.reader.FollowBuckets(ctx, "reader", time.Minute)
			b.must(err)
			b.must(delivery.Ack(ctx))
		})
	},
	"Listen": func(b *two) bool {
		_, _ = b.reader.Listen(b.Context(), b.key(), nil, 0)
		b.publish(b.writer)
		return late(time.Now(), func(ctx context.Context) {
			delivery, err := b.reader.Listen(ctx, b.key(), nil, time.Minute)
			b.must(err)
			b.must(delivery.Ack(ctx))
		})
	},
	"ListenDead": func(b *two) bool {
		_, _ = b.reader.ListenDead(b.Context(), b.key(), 0)
		b.must(b.writer.DeadLetter(b.Context(), b.deadLetter()))
		return late(time.Now(), func(ctx context.Context) {
			deadLetter, err := b.reader.ListenDead(ctx, b.key(), time.Minute)
			b.must(err)
			b.must(deadLetter.Ack(ctx))
		})
	},
	"Take": func(b *two) bool {
		b.must(b.writer.Enqueue(b.Context(), b.job()))
		return late(time.Now(), func(ctx context.Context) {
			claim, err := b.reader.Claim(ctx, events.FunctionTrain, []string{"cpu"}, time.Minute)
			b.must(err)
			b.must(claim.Ack(ctx))
		})
	},
	"Queued": func(b *two) bool {
		b.must(b.writer.Enqueue(b.Context(), b.job()))
		_, err := b.reader.Queued(b.Context(), b.key())
		return err != nil
	},
	"Studies": func(b *two) bool {
		b.append()
		return lacks(b.reader.Studies(b.Context(), ""), func(e events.StudyEntry) bool { return e.Study == b.study() })
	},
	"ReadStudy": func(b *two) bool {
		b.append()
		return lacks(b.reader.ReadStudy(b.Context(), b.study(), 0, false), func(events.StudyEntry) bool { return true })
	},
	"ReadStudy before the acknowledgement": func(b *two) bool {
		return whileUnacknowledged(func() { b.append() }, func() bool {
			return lacks(b.reader.ReadStudy(b.Context(), b.study(), 0, false), func(events.StudyEntry) bool { return true })
		})
	},
	"ReadStudy, following": func(b *two) bool {
		follow := func(ctx context.Context) iter.Seq2[events.StudyEntry, error] {
			return b.reader.ReadStudy(ctx, b.study(), 0, true)
		}
		began := time.Now()
		go b.append()
		return late(began, firstOf(follow, func(events.StudyEntry) bool { return true }))
	},
	"Dead": func(b *two) bool {
		b.must(b.writer.DeadLetter(b.Context(), b.deadLetter()))
		return lacks(b.reader.DeadLetters(b.Context()), func(d events.DeadLetter) bool { return d.Message.Sequence == b.deadLetter().Message.Sequence })
	},
	"Dead after a deletion": func(b *two) bool {
		b.must(b.writer.DeadLetter(b.Context(), b.deadLetter()))
		b.must(b.writer.DeleteDeadLetter(b.Context(), uint64(b.n+1)))
		return !lacks(b.reader.DeadLetters(b.Context()), func(d events.DeadLetter) bool { return d.Message.Sequence == b.deadLetter().Message.Sequence })
	},
	"Report": func(b *two) bool {
		ctx, stop := context.WithTimeout(b.Context(), time.Second)
		defer stop()
		watch := b.reader.Watch(ctx, "", "")
		b.must(b.writer.Report(ctx, events.Progress{Job: b.key(), Pipeline: "penguin", Run: "r"}))
		return lacks(watch, func(events.Progress) bool { return true })
	},
}

// byLeader are the reads that miss nothing, by the Staleness that breaks them.
var byLeader = map[string]bustest.Staleness{
	"Get": bustest.OldGets, "Get what was read, after a conflict": bustest.OldGets, "Get after a conflict and Sync": bustest.OldGets,
	"Get after a write of its own": bustest.OldGets, "Revision": bustest.OldRevisions, "Read": bustest.OldReads,
	"Read what another caller saw": bustest.OldReads, "ReadStudy": bustest.OldStudies, "Queued": bustest.OldQueue,
}

// A Stale gives old reads wherever the contract allows them, and nowhere else.
func TestAStaleBusIsAsStaleAsItsContractAllows(t *testing.T) {
	t.Parallel()
	for _, staleness := range []bustest.Staleness{
		bustest.OnlyByContract, bustest.OldGets, bustest.OldRevisions, bustest.OldReads, bustest.OldStudies, bustest.OldQueue, bustest.AnyCopy,
	} {
		synctest.Test(t, func(t *testing.T) {
			counts := countOld(t, staleness)
			for name := range oldReads {
				broken, leader := byLeader[name]
				old := counts[name]
				t.Logf("staleness %b, %s: %d of %d are old", staleness, name, old, rounds)
				switch exact := leader && broken&staleness == 0; {
				case exact && old > 0:
					t.Errorf("staleness %b, %s: %d of %d are old, want none", staleness, name, old, rounds)
				case !exact && (old < rounds/50 || old > rounds*19/20):
					t.Errorf("staleness %b, %s: %d of %d are old, want some", staleness, name, old, rounds)
				}
			}
		})
	}
}

// A watch yields every key that exists in the end, however old its first copy is.
func TestAWatchOfAStaleBusYieldsEveryKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(50) {
			stale := bustest.NewStale(bustest.NewMemory(0))
			b := &two{
				T: t, writer: stale.Client(rand.New(rand.NewPCG(seed, 1)), bustest.OnlyByContract),
				reader: stale.Client(rand.New(rand.NewPCG(seed, 2)), bustest.OnlyByContract),
			}
			var want []string
			for b.n = range 5 {
				b.create()
				want = append(want, b.key())
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			var keys []string
			for entry, err := range b.joins().Watch(ctx) {
				b.must(err)
				if entry.Revision != 0 {
					keys = append(keys, entry.Key)
				}
			}
			stop()
			if !slices.Equal(keys, want) {
				t.Errorf("seed %d: got %v, want %v", seed, keys, want)
			}
		}
	})
}
