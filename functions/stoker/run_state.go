package main

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// The states of a run, as functions/runs has them.
const (
	runWaiting   = runs.Waiting
	runHeld      = runs.Held
	runQueued    = runs.Queued
	runTuning    = runs.Tuning
	runRunning   = runs.Running
	runTrained   = runs.Trained
	runFailed    = runs.Failed
	runCancelled = runs.Cancelled
	runExpired   = runs.Expired
	runUnclear   = runs.Unclear
)

// runState is one line of `stoker runs`.
type runState = runs.State

// lastWord is what the log says has come of a run, and where.
type lastWord = runs.LastWord

// outcome is the state of a run once something has come of it.
func outcome(recorded events.Recorded) runState { return runs.Outcome(recorded) }
