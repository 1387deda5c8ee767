package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// memory is a backend whose log is in memory, and whose tuners are jobs of their own.
type memory struct {
	t     testing.TB
	store string // the directory in which Keep stores

	mu      sync.Mutex
	study   tune.Study
	log     []tune.Entry
	changed chan struct{} // closed at each change

	stop func(curves map[string][]tune.Point) bool
}

func newMemory(t testing.TB, config tune.Config) *memory {
	t.Helper()
	m := &memory{t: t, store: t.TempDir(), changed: make(chan struct{})}
	if err := m.append(tune.Entry{Begun: &tune.Begun{Config: config}}); err != nil {
		t.Fatal(err)
	}
	return m
}

// append adds to the log; the caller holds m.mu, or has m for itself.
func (m *memory) append(e tune.Entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var read tune.Entry
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	read.Stored = time.Unix(1_700_000_000+int64(len(m.log)), 0)
	if err := m.study.Apply(read); err != nil {
		return err
	}
	m.log = append(m.log, read)
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

func (m *memory) Study(context.Context) (tune.Study, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.study, nil
}

func (m *memory) Next(ctx context.Context, tuner string) (string, tune.Verdict, error) {
	for {
		id, verdict, changed, err := m.try(tuner)
		if verdict != tune.Wait || err != nil {
			return id, verdict, err
		}
		select {
		case <-ctx.Done():
			return "", tune.Wait, nil
		case <-changed:
		}
	}
}

func (m *memory) try(tuner string) (string, tune.Verdict, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.study.Of(tuner); t != nil {
		return t.ID, tune.Try, nil, nil
	}
	if due := m.study.Due(time.Unix(1_700_000_000, 0)); due != nil {
		return "", tune.Over, nil, m.append(tune.Entry{Finished: due})
	}
	started := tune.Started{Trial: m.study.NextID(), Owner: tune.Owner{Job: tuner, Attempt: "1"}}
	if again := m.study.Retry(); again != nil && m.study.Free() > 0 {
		started.Trial = again.ID
	} else {
		suggestion, verdict, err := suggest.Next(&m.study)
		switch {
		case err != nil || verdict == tune.Wait:
			return "", verdict, m.changed, err
		case verdict == tune.Over && len(m.study.Running()) > 0:
			return "", tune.Wait, m.changed, nil
		case verdict == tune.Over && m.study.Finished == nil:
			return "", verdict, nil, m.append(tune.Entry{Finished: &tune.Finished{Why: tune.Exhausted}})
		case verdict == tune.Over:
			return "", verdict, nil, nil
		}
		started.Suggestion = &suggestion
	}
	return started.Trial, tune.Try, nil, m.append(tune.Entry{Started: []tune.Started{started}})
}

func (m *memory) Found(_ context.Context, found space.Space) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.append(tune.Entry{Space: found})
}

func (m *memory) End(_ context.Context, ended tune.Ended) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.study.Trial(ended.Trial)
	if t == nil || t.Status != tune.Running {
		return nil
	}
	ended.Owner = t.Owner
	return m.append(tune.Entry{Ended: &ended})
}

func (m *memory) Stop(_ context.Context, _ string, curves map[string][]tune.Point) (bool, error) {
	return m.stop != nil && m.stop(curves), nil
}

func (m *memory) Keep(_ context.Context, trial, folder string) (string, error) {
	kept := filepath.Join(m.store, trial)
	return kept, os.CopyFS(kept, os.DirFS(folder))
}

func (m *memory) Lay(_ context.Context, trial *tune.Trial, folder string) error {
	if trial.Files == "" {
		return errors.New("trial " + trial.ID + " left nothing")
	}
	return os.CopyFS(folder, os.DirFS(trial.Files))
}
