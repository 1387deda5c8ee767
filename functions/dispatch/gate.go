package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// sweepPrefix begins the keys of entries among the gates that are no gates: no pipeline's name has a slash.
const sweepPrefix = "sweep/"

func isGate(key string) bool { return !strings.HasPrefix(key, sweepPrefix) }

// GateOf is the gate of a pipeline as it stands.
func GateOf(ctx context.Context, box events.Letterbox, pipeline string) (join.Gate, error) {
	gates, err := box.Register(ctx, events.RegisterGates)
	if err != nil {
		return join.Gate{}, fmt.Errorf("open gates: %w", err)
	}
	gate, _, err := readGate(ctx, gates, pipeline)
	return gate, err
}

// enter lets a run that is to have a job pass the gate, or wait there. An open gate without a limit costs one look.
func (d *Dispatcher) enter(ctx context.Context, run held, current deployed) error {
	if current.spec.Concurrency == nil {
		open, err := d.isOpen(ctx, run.Pipeline)
		if err != nil {
			return err
		}
		if open {
			return d.proceed(ctx, run, current)
		}
	}
	err := d.pass(ctx, current, func(g join.Gate) join.Gate { return g.Enter(run.Join) })
	return d.only(run.Run, err)
}

// isOpen says whether a pipeline has no gate that would have to be changed.
func (d *Dispatcher) isOpen(ctx context.Context, pipeline string) (bool, error) {
	_, err := d.reads.get(ctx, "gate "+pipeline, func(ctx context.Context) (events.Entry, error) { return d.gates.Get(ctx, pipeline) })
	if errors.Is(err, events.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read gate %s: %w", pipeline, err)
	}
	return false, nil
}

// leave gives the place of a run free whose outcome is told, and lets the next one pass. An outcome is never refused: it says what
// came of a run, and that the run failed must not be told for it. Where the pipeline is not applied any more, nobody passes; should it
// be again, a sweep gives the place free.
func (d *Dispatcher) leave(ctx context.Context, outcome events.Fact) error {
	if open, err := d.isOpen(ctx, outcome.Pipeline); err != nil || open {
		return err
	}
	current, err := readPipeline(ctx, d.pipelines, outcome.Pipeline)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = d.pass(ctx, current, func(g join.Gate) join.Gate { return g.Leave(outcome.Run) })
	return d.only(outcome.Run, err)
}

// pass changes the gate of a pipeline, and brings everyone there to what the gate now says of them. It goes on until nobody leaves
// any more, for who leaves makes room. Each step can be repeated: who was admitted by a dispatcher that died is found there by the
// next one. A run that makes trouble does not hold up the others: the error is then a troubles.
func (d *Dispatcher) pass(ctx context.Context, current deployed, change func(join.Gate) join.Gate) error {
	defer d.inTurn.lock(current.spec.Name)()
	for {
		gate, err := d.changeGate(ctx, current, change)
		if err != nil {
			return err
		}
		gone, trouble := d.serve(ctx, gate, current)
		if len(gone) == 0 {
			return trouble.err()
		}
		change = func(g join.Gate) join.Gate { return g.Leave(gone...) }
	}
}

// serve ends the runs that are superseded and offers the jobs of those admitted. It returns the runs that need no place any more.
func (d *Dispatcher) serve(ctx context.Context, gate join.Gate, current deployed) (gone []string, trouble troubles) {
	trouble = troubles{}
	for _, place := range gate.Waiting {
		if place.SupersededBy == "" {
			continue
		}
		if err := d.supersede(ctx, current, place); err != nil {
			trouble[place.Run] = err
			continue
		}
		gone = append(gone, place.Run)
	}
	for _, place := range gate.Admitted {
		keeps, err := d.admit(ctx, current, place.Run)
		if err != nil {
			trouble[place.Run] = err
		} else if !keeps {
			gone = append(gone, place.Run)
		}
	}
	return gone, trouble
}

// admit offers the job of a run that has a place, if that is still to be done, and says whether it keeps the place until its
// outcome is told.
func (d *Dispatcher) admit(ctx context.Context, current deployed, name string) (keeps bool, err error) {
	run, err := d.read(ctx, current.spec.Name, name)
	if err != nil {
		return false, err
	}
	if lacksJob(run.Join) {
		if err = d.proceed(ctx, run, current); err != nil {
			return false, err
		}
		if run, err = d.read(ctx, current.spec.Name, name); err != nil { // it may have ended instead
			return false, err
		}
	}
	if run.State == join.Ended {
		return false, errors.Join(d.tell(ctx, run), d.withdraw(ctx, run, current))
	}
	return (run.State == join.Dispatched || run.IsTuned()) && current.spec.Concurrency != nil, nil
}

// lacksJob says whether a run is to have a job that is not known to be on the queue.
func lacksJob(run join.Join) bool {
	return run.State == join.Complete || run.IsTuned() && run.Tuning.Job == ""
}

// changeGate changes a pipeline's gate by compare-and-swap, and settles who may pass.
func (d *Dispatcher) changeGate(ctx context.Context, current deployed, change func(join.Gate) join.Gate) (join.Gate, error) {
	for pause := (events.Pause{}); ; {
		before, entry, err := readGate(ctx, d.gates, current.spec.Name)
		if err != nil {
			return join.Gate{}, err
		}
		after := change(before).Settle(current.spec.Concurrency)
		if err := d.swapGate(ctx, entry, after); !errors.Is(err, events.ErrConflict) {
			return after, err
		}
		if err := pause.Wait(ctx); err != nil {
			return join.Gate{}, err
		}
	}
}

// swapGate writes only what has changed. A gate that has nothing to say has no entry.
func (d *Dispatcher) swapGate(ctx context.Context, before events.Entry, gate join.Gate) error {
	value, err := json.Marshal(gate)
	switch {
	case err != nil || bytes.Equal(value, before.Value):
	case gate.IsOpen() && before.Revision == 0:
	case gate.IsOpen():
		err = d.gates.Delete(ctx, before.Key, before.Revision)
	case before.Revision == 0:
		_, err = d.gates.Create(ctx, before.Key, value)
	default:
		_, err = d.gates.Update(ctx, before.Key, value, before.Revision)
	}
	if err != nil {
		return fmt.Errorf("write gate %s: %w", before.Key, err)
	}
	return nil
}

// readGate returns an open gate, and an entry without revision, if there is none.
func readGate(ctx context.Context, gates events.Register, pipeline string) (gate join.Gate, entry events.Entry, err error) {
	entry, err = gates.Get(ctx, pipeline)
	if errors.Is(err, events.ErrNotFound) {
		return gate, events.Entry{Key: pipeline}, nil
	}
	if err != nil {
		return gate, entry, fmt.Errorf("read gate %s: %w", pipeline, err)
	}
	if err := json.Unmarshal(entry.Value, &gate); err != nil {
		return gate, entry, fmt.Errorf("read gate %s, revision %d: %w", pipeline, entry.Revision, err)
	}
	return gate, entry, nil
}
