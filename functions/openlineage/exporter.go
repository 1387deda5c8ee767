package openlineage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/lineage"
	"github.com/stoker-ml/stoker/functions/studies"
	"github.com/stoker-ml/stoker/storage"
)

// Sender takes events: a receiver over HTTP, a file.
type Sender interface {
	// Send returns nil once the event is taken. A *Refused will never be taken.
	Send(ctx context.Context, e Event) error
}

// Refused says that a receiver does not take an event, and never will.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// Exporter tells a Sender of the log of facts.
type Exporter struct {
	Teller
	Bus      events.Bus
	Store    storage.Store
	Sender   Sender
	Pipeline string       // only this one; "" for all
	Log      *slog.Logger // nil discards
}

// kinds are those of facts that Of tells something of.
func kinds() []events.Kind {
	return []events.Kind{events.KindModelTrained, events.KindHParamsReady, events.KindTrainingFailed, events.KindTuningFailed}
}

// Replay sends what the log tells from a sequence on, and ends at the newest fact. It returns how many events were sent. An event that is
// refused, or a receiver that is away, ends it.
func (x *Exporter) Replay(ctx context.Context, from uint64) (sent int, err error) {
	for recorded, err := range x.Bus.Read(ctx, events.Query{Kinds: kinds(), Pipeline: x.Pipeline, From: from}) {
		if err != nil {
			return sent, err
		}
		n, err := x.tell(ctx, recorded)
		if sent += n; err != nil {
			return sent, fmt.Errorf("fact %d: %w", recorded.Message.Sequence, err)
		}
	}
	return sent, nil
}

// tell sends the events of one fact.
func (x *Exporter) tell(ctx context.Context, recorded events.Recorded) (sent int, err error) {
	search, err := x.search(ctx, recorded)
	if err != nil {
		return 0, err
	}
	for _, e := range x.Of(recorded, search) {
		if err := x.Sender.Send(ctx, e); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// search gathers what a fact of a search does not tell; nil where there is nothing. What is gone by now is left out.
func (x *Exporter) search(ctx context.Context, recorded events.Recorded) (*Search, error) {
	var s Search
	switch data := recorded.Event.Data.(type) {
	case *events.HParamsReady:
		if recorded.Event.Source != events.Source(events.FunctionTune) {
			return nil, nil
		}
		made, err := lineage.MadeAt(ctx, x.Store, data.Hyperparameters)
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return nil, err
		}
		s.Inputs, s.Module, s.Started = made.Inputs, made.Module, made.Started
		return &s, x.trials(ctx, recorded.Event.Pipeline, data.Execution, &s)
	case *events.TuningFailed:
		return &s, x.trials(ctx, recorded.Event.Pipeline, data.Execution, &s)
	}
	return nil, nil
}

// trials reads those of a study. A log that can't be read is no reason not to tell of the search.
func (x *Exporter) trials(ctx context.Context, pipeline, execution string, s *Search) error {
	name := events.Study{Pipeline: pipeline, ID: hexOf(execution)}
	if name.Validate() != nil {
		return nil
	}
	state, err := studies.Read(ctx, x.Bus, name)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		x.log().Warn("trials are left out", "pipeline", pipeline, "study", name.ID, "error", err)
	}
	s.Trials = state.Study.Trials
	return nil
}

func hexOf(digest string) string {
	const prefix = "sha256:"
	if len(digest) > len(prefix) && digest[:len(prefix)] == prefix {
		return digest[len(prefix):]
	}
	return digest
}

const (
	listenWait = 5 * time.Second // how long one look at the bus may last
	pause      = time.Second     // after the bus said no
	longPause  = time.Minute     // at most, after the receiver did
	maxRefused = 5               // times that an event is sent which the receiver says it will not take
	settleTime = 5 * time.Second
)

// Follow sends what comes from the first Follow under that name on, until ctx ends, which is no error. The bus remembers how far it is: a fact
// is settled once the receiver has taken all its events, and told again if a process dies before. While the receiver is away nothing is
// lost, and nothing waits but this.
func (x *Exporter) Follow(ctx context.Context, name string) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return x.follow(ctx, name) })
	both.Go(func() error { x.watch(ctx); return nil })
	return both.Wait()
}

func (x *Exporter) follow(ctx context.Context, name string) error {
	tries := map[uint64]int{}
	for ctx.Err() == nil {
		delivery, err := x.Bus.Listen(ctx, name, kinds(), listenWait)
		switch {
		case errors.Is(err, events.ErrClosed), errors.Is(err, events.ErrRefused):
			return err
		case errors.Is(err, events.ErrEmpty), ctx.Err() != nil:
			continue
		case err != nil:
			x.log().Warn("the log is not followed; it is tried again", "error", err)
			rest(ctx, pause)
			continue
		}
		x.settle(ctx, delivery, tries)
	}
	return nil
}

// settle tells of one fact and says to the bus what became of that.
func (x *Exporter) settle(ctx context.Context, delivery events.EventDelivery, tries map[uint64]int) {
	recorded := delivery.Recorded()
	at := recorded.Message.Sequence
	var err error
	if x.Pipeline == "" || recorded.Event.Pipeline == x.Pipeline {
		_, err = x.tell(ctx, recorded)
	}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	refused, never := errors.AsType[*Refused](err)
	if tries[at]++; never && tries[at] >= maxRefused {
		x.log().Error("a fact is passed over: its events are refused", "sequence", at, "error", refused)
		err = nil
	}
	if err == nil {
		delete(tries, at)
		err = delivery.Ack(settling)
	} else {
		wait := min(pause<<min(tries[at]-1, 6), longPause)
		x.log().Warn("events are not taken; they are sent again", "sequence", at, "in", wait, "error", err)
		err = delivery.Nak(settling, wait)
	}
	if err != nil {
		x.log().Warn("the bus has not heard what became of a fact; it comes again", "sequence", at, "error", err)
	}
}

func (x *Exporter) log() *slog.Logger {
	if x.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return x.Log
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
