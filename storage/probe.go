package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Probe checks that a store honors conditional writes, both sequential and concurrent. The
// guarantee of one commit per execution depends on it. If a second write succeeds, or the store
// does not implement conditions, Probe returns ErrNoConditions with what it observed.
//
// folder is a bucket or a prefix in it. Every call writes keys of its own below folder, so that
// concurrent probes are safe, and removes them before it returns, also if ctx has ended. An object
// may remain only if the store becomes unreachable, or performs a write long after its answer was
// lost.
//
// A lost answer to a write is resolved by reading the object back. Probe takes at most a minute,
// and ten seconds more to remove its objects. It returns ErrUnavailable if the store did not
// answer: the caller waits and probes again, as AwaitProbe does.
//
// A store that keeps objects in a file system's directories may fail at random, because one probe
// may remove the directory to which another one writes (versitygw: "Existing Object is a
// directory", of a key that is new). Probe tries again after an error of no known kind.
func Probe(ctx context.Context, store Store, folder Ref) error {
	bounded, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	for try := 1; ; try++ {
		err := probeOnce(bounded, store, folder)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, ErrNoConditions):
			return err
		case bounded.Err() != nil:
			return fmt.Errorf("probe %s: not finished within %s: %w: %s", folder, probeTime, ErrUnavailable, err)
		case try == probeTries || known(err):
			return err
		}
	}
}

const (
	probeTime    = time.Minute
	probeWait    = time.Second      // after ErrUnavailable, the first time
	probeCleanup = 10 * time.Second // to remove the objects
	probeTries   = 5                // after errors of no known kind
	probeAsks    = 2                // per request, while the store is unavailable
	probeRounds  = 3                // of concurrent writes
	probeWriters = 8                // at once

	probeLongestWait = 30 * time.Second
)

// AwaitProbe probes until the store has answered. Each time that Probe returns ErrUnavailable, it
// calls waiting with that error and with the delay until the next probe, which grows to half a
// minute. It returns any other result of Probe, or the error of ctx.
func AwaitProbe(ctx context.Context, store Store, folder Ref, waiting func(err error, wait time.Duration)) error {
	for wait := probeWait; ; wait = min(2*wait, probeLongestWait) {
		err := Probe(ctx, store, folder)
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoConditions) {
			return err
		}
		waiting(err, wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for %s: %w: %s", name(store), context.Cause(ctx), err)
		}
	}
}

// known reports whether err is of a kind that another run of the whole probe does not change.
func known(err error) bool {
	for _, kind := range []error{ErrNoConditions, ErrNotFound, ErrPrecondition, ErrDenied, ErrUnavailable} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func probeOnce(ctx context.Context, store Store, folder Ref) (err error) {
	p := &prober{store: store, folder: folder.Join(systemFolder, "probe", rand.Text())}
	if err := p.folder.Validate(); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer func() { err = errors.Join(err, p.cleanUp(ctx)) }()
	if err := p.inTurn(ctx, p.key("turn")); err != nil {
		return err
	}
	for round := range probeRounds {
		if err := p.atOnce(ctx, p.key(fmt.Sprintf("race-%d", round))); err != nil {
			return err
		}
	}
	return nil
}

// prober is one run of Probe.
type prober struct {
	store  Store
	folder Ref   // of this run alone
	keys   []Ref // below folder; they may have been written
}

func (p *prober) key(name string) Ref {
	ref := p.folder.Join(name)
	p.keys = append(p.keys, ref)
	return ref
}

func (p *prober) cleanUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeCleanup)
	defer cancel()
	for _, ref := range p.keys {
		err = errors.Join(err, ask(func() error { return p.store.Delete(ctx, ref) }))
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("remove %s: not finished within %s: %w: %s", p.folder, probeCleanup, ErrUnavailable, err)
	}
	return err
}

// inTurn writes sequentially: with each condition once where it holds and once where it does not.
func (p *prober) inTurn(ctx context.Context, ref Ref) error {
	created, err := p.expect(ctx, ref, "first", Condition{IfAbsent: true}, true)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		body  string
		cond  Condition
		holds bool
	}{
		{"second", Condition{IfAbsent: true}, false},
		{"third", Condition{IfMatch: created.ETag}, true},
		{"fourth", Condition{IfMatch: created.ETag}, false},
	} {
		if _, err := p.expect(ctx, ref, step.body, step.cond, step.holds); err != nil {
			return err
		}
	}
	return nil
}

// expect writes under a condition. It returns ErrNoConditions if the store writes although the
// condition does not hold, or does not write although it holds.
func (p *prober) expect(ctx context.Context, ref Ref, body string, cond Condition, holds bool) (Object, error) {
	wrote, object, err := p.write(ctx, ref, body, cond)
	switch {
	case errors.Is(err, ErrNoConditions):
		return Object{}, fmt.Errorf("probe %s: %s: %w", ref, name(p.store), err)
	case err != nil:
		return Object{}, fmt.Errorf("probe %s: %w", ref, err)
	case wrote && !holds:
		return Object{}, p.refuse(ref, "ignores "+cond.header())
	case !wrote && holds:
		return Object{}, p.refuse(ref, "refuses a write whose "+cond.header()+" holds")
	}
	return object, nil
}

// write reports whether body is at ref after a conditional write. If the answer may have been lost,
// it reads the object to find out: ErrPrecondition may be the answer to a retry by the store's
// client.
func (p *prober) write(ctx context.Context, ref Ref, body string, cond Condition) (wrote bool, object Object, err error) {
	for try := 1; ; try++ {
		object, err = p.store.PutIf(ctx, ref, []byte(body), cond)
		if !undecided(err) {
			return err == nil, object, err
		}
		there, now, readErr := p.read(ctx, ref)
		switch {
		case readErr != nil:
			return false, Object{}, errors.Join(err, readErr)
		case there == body:
			return true, now, nil
		case errors.Is(err, ErrPrecondition):
			return false, now, nil
		case try == probeAsks:
			return false, Object{}, err
		}
	}
}

// undecided reports whether an error of PutIf leaves open whether the object was written.
func undecided(err error) bool {
	return errors.Is(err, ErrPrecondition) || errors.Is(err, ErrUnavailable)
}

// read returns the object at ref; the zero values if there is none.
func (p *prober) read(ctx context.Context, ref Ref) (text string, object Object, err error) {
	err = ask(func() error {
		stream, found, err := p.store.Open(ctx, ref, "")
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		body, err := io.ReadAll(stream)
		text, object = string(body), found
		return errors.Join(err, stream.Close())
	})
	return text, object, err
}

// ask calls do, which must be repeatable, until the store answers, probeAsks times at most.
func ask(do func() error) (err error) {
	for range probeAsks {
		if err = do(); !errors.Is(err, ErrUnavailable) {
			return err
		}
	}
	return err
}

// atOnce lets several writers create one object concurrently, and then replace it.
func (p *prober) atOnce(ctx context.Context, ref Ref) error {
	created, err := p.race(ctx, ref, Condition{IfAbsent: true})
	if err != nil {
		return err
	}
	_, err = p.race(ctx, ref, Condition{IfMatch: created.ETag})
	return err
}

// attempted is the write of one of several concurrent writers.
type attempted struct {
	body string
	err  error
}

// race lets probeWriters write concurrently under one condition, which must hold for exactly one of
// them. It returns the object of the winner.
func (p *prober) race(ctx context.Context, ref Ref, cond Condition) (Object, error) {
	writes := make([]attempted, probeWriters)
	var writers sync.WaitGroup
	begin := make(chan struct{})
	for i := range writes {
		w := &writes[i]
		w.body = fmt.Sprintf("%s, writer %d", cond.header(), i)
		writers.Go(func() {
			<-begin
			_, w.err = p.store.PutIf(ctx, ref, []byte(w.body), cond)
		})
	}
	close(begin)
	writers.Wait()
	there, object, err := p.read(ctx, ref)
	if err != nil {
		return Object{}, fmt.Errorf("probe %s: %w", ref, err)
	}
	return object, p.judge(ref, cond, writes, there)
}

// judge returns an error unless exactly one of writes has succeeded. there is the object read after
// all of them ended: a writer whose answer was lost has won if the object holds its body.
func (p *prober) judge(ref Ref, cond Condition, writes []attempted, there string) error {
	won, stored := 0, false
	var away error
	for _, w := range writes {
		if w.err != nil && !undecided(w.err) {
			return fmt.Errorf("probe %s: %w", ref, w.err)
		}
		if w.err == nil || w.body == there {
			won++
		}
		stored = stored || w.body == there
		if errors.Is(w.err, ErrUnavailable) {
			away = w.err
		}
	}
	switch {
	case won > 1:
		return p.refuse(ref, fmt.Sprintf("%d of %d concurrent conditional writes won (%s)", won, len(writes), cond.header()))
	case won == 1 && stored:
		return nil
	case won == 1:
		return fmt.Errorf("probe %s: the object that was just written is not there", ref)
	case away != nil:
		return fmt.Errorf("probe %s: %w", ref, away)
	}
	return p.refuse(ref, fmt.Sprintf("none of %d concurrent writes won whose %s held", len(writes), cond.header()))
}

// refuse returns ErrNoConditions with the store's name and its behavior.
func (p *prober) refuse(ref Ref, what string) error {
	return fmt.Errorf("probe %s: %s: %s: %w", ref, name(p.store), what, ErrNoConditions)
}

// header returns the HTTP header that states the condition to S3.
func (c Condition) header() string {
	if c.IfAbsent {
		return "If-None-Match"
	}
	return "If-Match"
}

func name(store Store) string {
	if s, ok := store.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", store)
}
