package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// stepper is a module that takes steps, saves its step, and resumes from it. When it must stop it
// saves once more.
type stepper struct {
	modelchecktest.Here
	steps, every int
	// Called after each step; an error ends the module.
	after func(ctx context.Context, step int) error

	mu    sync.Mutex
	taken []int // steps in the order in which all attempts took them
}

func (s *stepper) Digest(context.Context, module.Source) (string, error) { return "builtin:dnn@1", nil }

func (s *stepper) Run(ctx context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	if err := os.WriteFile(limits.LogPath, []byte("a line of log\n"), 0o600); err != nil {
		return runner.Outcome{}, err
	}
	state := filepath.Join(a.WorkingDir, "state", "step")
	save := func(step int) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(state), 0o755), os.WriteFile(state, []byte(strconv.Itoa(step)), 0o600)); err != nil {
			panic(err)
		}
		on(module.Message{Type: module.MessageCheckpoint, Step: step})
	}
	step := 0
	if text, err := os.ReadFile(state); err == nil {
		if step, err = strconv.Atoi(string(text)); err != nil {
			return runner.Outcome{}, err
		}
	}
	for step < s.steps {
		if ctx.Err() != nil {
			save(step)
			return runner.Outcome{}, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
		}
		step++
		s.take(step)
		if s.after != nil {
			if err := s.after(ctx, step); err != nil {
				return runner.Outcome{}, err
			}
		}
		if step%s.every == 0 {
			save(step)
		}
	}
	return writesModel(a)
}

func (s *stepper) take(step int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, step)
}

func (s *stepper) all() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int(nil), s.taken...)
}

// crash is a process that a signal ended.
func crash() error {
	return &runner.Error{Kind: runner.KindCrash, Err: errors.New("ended by signal 9")}
}

// shift is one attempt at a job: the Task that worker passes to a Function, and a way to take the
// lease away.
type shift struct {
	trainer *trainer.Trainer
	job     events.Job
	attempt events.Attempt
	prove   func() error
	seen    func(events.Progress)
}

func (b *bench) shift(t *testing.T, store storage.Store, g execution.Runner, attempt string, number int) *shift {
	t.Helper()
	return &shift{
		trainer: trainer.New(execution.New(store, g, execution.Options{
			Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Now: func() time.Time { return time.Unix(1, 0).UTC() }, Grace: time.Second,
		}), trainer.Options{}),
		job: job(t, "j1", "monday", spec), attempt: events.Attempt{ID: attempt, Number: number},
		prove: func() error { return nil }, seen: func(events.Progress) {},
	}
}

func (s *shift) handle(ctx context.Context) (*events.ModelTrained, error) {
	evs, err := s.trainer.Handle(ctx, worker.Task{Job: s.job, Attempt: s.attempt, Report: s.seen, Prove: s.prove})
	if err != nil {
		return nil, err
	}
	if len(evs) != 1 {
		return nil, fmt.Errorf("%d events", len(evs))
	}
	return evs[0].Data.(*events.ModelTrained), evs[0].Validate()
}

// watched is a store that reports each write before it is done.
type watched struct {
	storage.Store
	before func(op, key string)
}

func (w watched) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	w.before("put", ref.Key)
	return w.Store.Put(ctx, ref, body, size)
}

func (w watched) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	w.before("put if", ref.Key)
	return w.Store.PutIf(ctx, ref, body, cond)
}

func (w watched) Delete(ctx context.Context, ref storage.Ref) error {
	w.before("delete", ref.Key)
	return w.Store.Delete(ctx, ref)
}

func checkpointKeys(t *testing.T, b *bench) (keys []string) {
	t.Helper()
	for _, key := range b.keys(t, "penguin/Trainer/.system/") {
		if strings.Contains(key, "checkpoint") {
			keys = append(keys, key)
		}
	}
	return keys
}
