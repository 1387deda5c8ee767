package openlineage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/storage"
)

// Sender accepts events: a receiver over HTTP, a file.
type Sender interface {
	// Send returns nil once the event is accepted. One with a *Refused never will be.
	Send(ctx context.Context, e Event) error
}

// Refused is the error of an event that a receiver never will accept.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// Exporter sends the event log to a Sender.
type Exporter struct {
	Converter
	Bus      events.Bus
	Store    storage.Store
	Sender   Sender
	Pipeline string       // only this one; "" for all
	Log      *slog.Logger // nil discards
}

// kinds are those that Of makes events from.
func kinds() []events.Kind {
	// Inputs are part of the events of the jobs that read them.
	return []events.Kind{events.KindModelTrained, events.KindHParamsReady, events.KindTrainingFailed, events.KindTuningFailed}
}

// Replay sends the events of the log from a sequence on, up to the newest. It returns how many were
// sent. An event that is refused, or a receiver that is away, ends it.
func (x *Exporter) Replay(ctx context.Context, from uint64) (sent int, err error) {
	for recorded, err := range x.Bus.Read(ctx, events.Query{Kinds: kinds(), Pipeline: x.Pipeline, From: from}) {
		if err != nil {
			return sent, err
		}
		n, err := x.send(ctx, recorded)
		if sent += n; err != nil {
			return sent, fmt.Errorf("event %d: %w", recorded.Message.Sequence, err)
		}
	}
	return sent, nil
}

// send sends the run events of one event of the log.
func (x *Exporter) send(ctx context.Context, recorded events.Recorded) (sent int, err error) {
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

// search gathers what an event of a search does not hold; nil if there is nothing. It leaves out
// what is gone.
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
	default: // other events end no search
		return nil, nil
	}
}

// trials reads those of a study. The search is sent even if its log can't be read.
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
		x.log().Warn("trials omitted", "pipeline", pipeline, "study", name.ID, "error", err)
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
	listenWait = 5 * time.Second // how long one request to the bus may last
	pause      = time.Second     // after an error of the bus
	longPause  = time.Minute     // at most, after an error of the receiver
	maxRefused = 5               // how often a refused event is sent
	settleTime = 5 * time.Second
)

// Follow sends later events than the first Follow of that name, until ctx ends, which is no error.
// The bus keeps its position: an event of the log is acknowledged once the receiver has accepted
// all its run events, and sent again if a process dies before. While the receiver is away nothing
// is lost, and only this exporter waits.
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
			x.log().Warn("log not followed; retrying", "error", err)
			rest(ctx, pause)
			continue
		}
		x.settle(ctx, delivery, tries)
	}
	return nil
}

// settle sends one event and acknowledges it, or hands it back.
func (x *Exporter) settle(ctx context.Context, delivery events.EventDelivery, tries map[uint64]int) {
	recorded := delivery.Recorded()
	at := recorded.Message.Sequence
	var err error
	if x.Pipeline == "" || recorded.Event.Pipeline == x.Pipeline {
		_, err = x.send(ctx, recorded)
	}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	refused, never := errors.AsType[*Refused](err)
	if tries[at]++; never && tries[at] >= maxRefused {
		x.log().Error("event skipped: the receiver refuses it", "sequence", at, "error", refused)
		err = nil
	}
	if err == nil {
		delete(tries, at)
		err = delivery.Ack(settling)
	} else {
		wait := min(pause<<min(tries[at]-1, 6), longPause)
		x.log().Warn("events not accepted; retrying", "sequence", at, "in", wait, "error", err)
		err = delivery.Nak(settling, wait)
	}
	if err != nil {
		x.log().Warn("event not acknowledged; it will be delivered again", "sequence", at, "error", err)
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
