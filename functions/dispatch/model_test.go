package dispatch_test

import (
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// expected is the state of a run according to the model.
type expected struct {
	state       join.State // Waiting, Dispatched or Ended
	causes      []uint64
	hparams     string
	tuned       []uint64 // events that its tune job is made from; nil: it has no tune job
	earlier     string   // hyperparameters that the tune job may reuse
	superseding bool     // it may have ended as superseded instead
}

// model is the join in its simplest form: all events of the log in order, no races, no crashes.
func (w *world) model(log []events.Recorded, run string, now time.Time) expected {
	first := map[events.Kind]events.Recorded{}
	var began time.Time
	var due []uint64
	expired, ended := expiry(log, run)
	for _, r := range log {
		kind := r.Event.Data.Kind()
		if r.Event.Run != run || !w.counts(kind) || ended && r.Message.Sequence > expired.Event.Data.(*events.TrainingFailed).Through {
			continue
		}
		if began.IsZero() && w.starts(kind) {
			began = r.Message.Stored
		}
		if _, known := first[kind]; !known {
			first[kind] = r
		}
		_, tuned := first[events.KindHParamsReady]
		_, failed := first[events.KindTuningFailed]
		if failed && !tuned && w.policy.onFailed == "fail" {
			return expected{state: join.Ended, tuned: due, earlier: w.earlier(log, due)}
		}
		if due == nil && !failed && !tuned && w.policy.tunes {
			due = w.data(first)
		}
		if e, done := w.completed(log, first, failed && !tuned, r.Message.Sequence); done {
			e.tuned, e.earlier = due, w.earlier(log, due)
			return e
		}
	}
	if ended && expired.Message.Stored.Before(began.Add(expireAfter)) {
		w.t.Errorf("%s expired at %s, and began at %s", run, expired.Message.Stored, began)
	}
	if due == nil && !began.IsZero() && now.After(began.Add(expireAfter)) {
		return expected{state: join.Ended}
	}
	return expected{state: join.Waiting, tuned: due, earlier: w.earlier(log, due), superseding: w.policy.supersedes && due != nil}
}

// expiry returns the event by which a run expired. The dispatcher decides by which events of the
// run it expires: the model checks that the run was not complete by then.
func expiry(log []events.Recorded, run string) (events.Recorded, bool) {
	for _, r := range log {
		failed, ok := r.Event.Data.(*events.TrainingFailed)
		if ok && r.Event.Run == run && r.Event.ID == events.EndedID(r.Event.Pipeline, run) && strings.Contains(failed.Message, "and expired after") {
			return r, true
		}
	}
	return events.Recorded{}, false
}

// earlier returns the pipeline's last hyperparameters before a tuning was due, if its tuner may
// reuse them.
func (w *world) earlier(log []events.Recorded, due []uint64) (newest string) {
	if len(due) == 0 || !w.policy.reuses {
		return ""
	}
	return newestBefore(log, slices.Max(due))
}

func newestBefore(log []events.Recorded, at uint64) (newest string) {
	for _, r := range log {
		if data, ok := r.Event.Data.(*events.HParamsReady); ok && r.Message.Sequence < at {
			newest = data.Hyperparameters
		}
	}
	return newest
}

// data returns the events of a run that has all it waits for except hyperparameters; nil if it
// hasn't.
func (w *world) data(first map[events.Kind]events.Recorded) (evs []uint64) {
	for _, kind := range w.policy.waits {
		if _, known := first[kind]; !known && kind != events.KindHParamsReady {
			return nil
		}
	}
	for kind, r := range first {
		if kind == events.KindExamplesReady || kind == events.KindTransformReady {
			evs = append(evs, r.Message.Sequence)
		}
	}
	slices.Sort(evs)
	return evs
}

func (w *world) counts(kind events.Kind) bool {
	switch kind {
	case events.KindExamplesReady, events.KindTransformReady:
		return true
	case events.KindHParamsReady:
		return !strings.Contains(w.policy.keys, "hyperparameters: none")
	case events.KindTuningFailed:
		return w.policy.onFailed != ""
	}
	return false
}

func (w *world) starts(kind events.Kind) bool {
	if kind == events.KindHParamsReady {
		return slices.Contains(w.policy.waits, kind)
	}
	return true
}

func (w *world) completed(log []events.Recorded, first map[events.Kind]events.Recorded, untuned bool, at uint64) (expected, bool) {
	for _, kind := range w.policy.waits {
		if _, known := first[kind]; !known && !(kind == events.KindHParamsReady && untuned) {
			return expected{}, false
		}
	}
	e := expected{state: join.Dispatched, superseding: w.policy.supersedes}
	newest := newestBefore(log, at)
	for _, r := range log {
		if have, known := first[r.Event.Data.Kind()]; known && have.Message.Sequence == r.Message.Sequence {
			e.causes = append(e.causes, r.Message.Sequence)
		}
	}
	if own, tuned := first[events.KindHParamsReady]; tuned {
		e.hparams = own.Event.Data.(*events.HParamsReady).Hyperparameters
	} else if w.policy.latest || untuned {
		e.hparams = newest
	}
	if untuned && newest == "" {
		return expected{state: join.Ended}, true
	}
	return e, true
}
