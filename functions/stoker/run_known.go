package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
)

// registers are those that tell of runs whose outcome is not known yet.
type registers struct {
	joins, pipelines, leases events.Register
	gates                    *gates
	held                     map[string]lease // by job, once readLeases was called
}

func openRegisters(ctx context.Context, box events.Letterbox) (r registers, err error) {
	for name, register := range map[string]*events.Register{
		events.RegisterJoins: &r.joins, events.RegisterPipelines: &r.pipelines, events.RegisterLeases: &r.leases,
	} {
		if *register, err = box.Register(ctx, name); err != nil {
			return r, err
		}
	}
	r.gates = &gates{box: box, seen: map[string]plan.Gate{}}
	return r, nil
}

// state says how far a run is by its join. What has come of its job, the log knows.
func (r registers) state(ctx context.Context, join plan.Join) (runState, error) {
	state := runState{Pipeline: join.Pipeline, Run: join.Run, Updated: join.Last().Stored}
	if join.State == plan.Ended {
		state.State, state.Error, state.Updated = failedState(join.Ending.Kind, join.Ending.Message), join.Ending.Message, join.Ending.At
		return state, nil
	}
	if join.IsTuned() {
		return r.tuned(ctx, join, state)
	}
	spec, err := dispatch.SpecOf(ctx, r.pipelines, join)
	if err != nil {
		return state, fmt.Errorf("run %s of pipeline %s: %w", join.Run, join.Pipeline, err)
	}
	state.Class = spec.Trainer.Resources.Class
	switch join.State {
	case plan.Waiting:
		state.State, state.Class, state.WaitsFor = runWaiting, "", join.Missing(spec)
	case plan.Complete:
		state.State = runHeld
		state.Gate, err = r.gates.place(ctx, join.Pipeline, join.Run)
	default:
		lease, leaseErr := r.lease(ctx, join.Job)
		state.State, state.Stopping = runQueued, lease.Cancelled
		if err = leaseErr; lease.Holder != "" {
			state.State = runRunning
		}
	}
	return state, err
}

// tuned says how far the tuning is that a run waits for.
func (r registers) tuned(ctx context.Context, join plan.Join, state runState) (runState, error) {
	spec, err := dispatch.SpecOf(ctx, r.pipelines, join.AtTuning())
	if err == nil && spec.Tuner == nil {
		err = fmt.Errorf("revision %d of the pipeline has no tuner", join.Tuning.Revision)
	}
	if err != nil {
		return state, fmt.Errorf("run %s of pipeline %s: %w", join.Run, join.Pipeline, err)
	}
	state.Class = spec.Search().Resources.Class
	if join.Tuning.Job == "" {
		state.State = runHeld
		state.Gate, err = r.gates.place(ctx, join.Pipeline, join.Run)
		return state, err
	}
	lease, err := r.lease(ctx, join.Tuning.Job)
	state.State = runQueued
	if lease.Holder != "" {
		state.State = runTuning
	}
	return state, err
}

// lease is the entry of a job in its register.
type lease struct {
	events.Lease
	written time.Time // by the bus's clock
}

func readLease(entry events.Entry) (lease, error) {
	found, err := events.DecodeLease(entry)
	return lease{found, entry.Written}, err
}

// lease is what the lease's entry of a job says; the zero lease if there is none.
func (r registers) lease(ctx context.Context, job string) (l lease, err error) {
	if r.held != nil || job == "" {
		return r.held[job], nil
	}
	entry, err := r.leases.Get(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	return readLease(entry)
}

// readLeases reads all leases at once, for who is going to ask for many.
func (r *registers) readLeases(ctx context.Context) error {
	r.held = map[string]lease{}
	for entry, err := range r.leases.All(ctx) {
		if err != nil {
			return err
		}
		if r.held[entry.Key], err = readLease(entry); err != nil {
			return err
		}
	}
	return nil
}
