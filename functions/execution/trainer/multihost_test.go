package trainer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

const togetherSpec = `
pipeline: penguin
module: taxi.py
trainer:
  wait_for: [transform]
  train_args: {num_steps: 3}
  resources: {workers: 2}
`

// together has a leader's trainer and a member's, on one store, and the runners of their modules.
type together struct {
	*bench
	bus   *bustest.Memory
	group *multihost.Leader
	hosts []string
	left  chan error // how the member left
}

// groupOf returns a group of two hosts, whose modules are run by scripted runners.
func groupOf(t *testing.T, leads, follows execution.Runner, memberStore func(storage.Store) storage.Store) *together {
	t.Helper()
	w := &together{bench: setup(t, nil), bus: bustest.NewMemory(time.Hour), hosts: []string{"host0:7070", "host1:7070"}, left: make(chan error, 1)}
	options := multihost.Options{Bus: w.bus, Class: "cpu", Hosts: w.hosts}
	var err error
	if w.group, err = multihost.Listen(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	root := storage.Ref{Bucket: "stoker"}
	w.trainer = trainer.New(execution.New(w.store, leads, execution.Options{Root: root, WorkDir: t.TempDir(), Group: w.group}), trainer.Options{})
	executor := execution.New(memberStore(w.store), follows, execution.Options{Root: root, WorkDir: t.TempDir()})
	follower := trainer.New(executor, trainer.Options{})
	options.Rank = 1
	go func() {
		w.left <- multihost.Follow(t.Context(), options, true, func(ctx context.Context, round *multihost.MemberRound) error {
			return executor.Follow(ctx, follower, round)
		})
	}()
	if err := w.group.Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.group.Close(); <-w.left })
	return w
}

// lead has the leader's trainer handle a job that an attempt has claimed. A later attempt takes
// over the lease.
func (w *together) lead(t *testing.T, j events.Job, attempt string) (*events.ModelTrained, error) {
	t.Helper()
	j.Causes = []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "1", Sequence: 1}}
	leases, err := w.bus.KV(t.Context(), events.KVLeases)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.Enqueue(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	entry, err := leases.Get(t.Context(), j.ID)
	lease := fmt.Appendf(nil, `{"holder": %q, "number": 1}`, attempt)
	if errors.Is(err, events.ErrNotFound) {
		_, err = leases.Create(t.Context(), j.ID, lease)
	} else if err == nil {
		_, err = leases.Update(t.Context(), j.ID, lease, entry.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.handle(t, j, attempt)
}

// plays is a runner whose module is a function, ended by ctx.
type plays func(ctx context.Context, a module.Assignment) (runner.Outcome, error)

func (plays) Check(ctx context.Context, question json.RawMessage, limits runner.Limits) (json.RawMessage, error) {
	return modelchecktest.Here{}.Check(ctx, question, limits)
}

func (plays) Digest(context.Context, module.Source) (string, error) { return "python:1", nil }

func (p plays) Run(ctx context.Context, a module.Assignment, limits runner.Limits, _ func(module.Message)) (runner.Outcome, error) {
	if limits.Live != nil {
		fmt.Fprintln(limits.Live, "a line of log")
	}
	return p(ctx, a)
}

func succeeds(_ context.Context, a module.Assignment) (runner.Outcome, error) { return writesModel(a) }

// trainsOn trains until it is stopped.
func trainsOn(ctx context.Context, _ module.Assignment) (runner.Outcome, error) {
	<-ctx.Done()
	return runner.Outcome{}, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
}

func asItIs(s storage.Store) storage.Store { return s }

func TestHostsOfAGroupTrainOnTheSameInputsAndTheLeaderAloneCommits(t *testing.T) {
	t.Parallel()
	assigned := make(chan module.Assignment, 2)
	var begun atomic.Int32
	all := make(chan struct{})
	// No host is done before the other has begun, as in training on several hosts: when a leader is
	// done, a member that has not begun leaves.
	staged := func(ctx context.Context, a module.Assignment) (runner.Outcome, error) {
		if got := read(t, a.TrainFiles); !slices.Equal(got, []string{"train rows"}) {
			t.Errorf("worker %d has staged %q", a.Cluster.Index, got)
		}
		assigned <- a
		if begun.Add(1) == 2 {
			close(all)
		}
		select {
		case <-all:
			return writesModel(a)
		case <-ctx.Done():
			return trainsOn(ctx, a)
		}
	}
	readOnly := func(s storage.Store) storage.Store {
		return storagetest.Faulty(s, func(c storagetest.Call) storagetest.Fault {
			if slices.Contains([]storagetest.Op{storagetest.OpPut, storagetest.OpPutIf, storagetest.OpDelete}, c.Op) {
				t.Errorf("the member writes %s", c.Ref)
			}
			return storagetest.Fault{}
		})
	}
	w := groupOf(t, plays(staged), plays(staged), readOnly)
	got, err := w.lead(t, job(t, "j1", "monday", togetherSpec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if got.Metrics["accuracy"] != 0.9 {
		t.Errorf("published %+v", got)
	}
	ranks := map[int]bool{}
	for range 2 {
		a := <-assigned
		ranks[a.Cluster.Index] = true
		if !slices.Equal(a.Cluster.Workers, w.hosts) || a.Workers != 2 || a.Hyperparameters == nil || a.Validate() != nil {
			t.Errorf("assigned %+v", a)
		}
	}
	if !ranks[0] || !ranks[1] {
		t.Errorf("ranks %v", ranks)
	}
}

func TestAJobForOneWorkerIsTheLeadersAlone(t *testing.T) {
	t.Parallel()
	alone := func(_ context.Context, a module.Assignment) (runner.Outcome, error) {
		if a.Cluster != nil {
			t.Errorf("assigned %+v", a.Cluster)
		}
		return writesModel(a)
	}
	w := groupOf(t, plays(alone), plays(func(context.Context, module.Assignment) (runner.Outcome, error) {
		t.Error("the member trains")
		return runner.Outcome{}, nil
	}), asItIs)
	if _, err := w.lead(t, job(t, "j1", "monday", spec), "a1"); err != nil {
		t.Fatal(err)
	}
}

func TestAGroupOfAnotherSizeIsTheJobsFault(t *testing.T) {
	t.Parallel()
	w := groupOf(t, plays(succeeds), plays(succeeds), asItIs)
	_, err := w.lead(t, job(t, "j1", "monday", strings.ReplaceAll(togetherSpec, "workers: 2", "workers: 3")), "a1")
	if kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), "resources.workers: 3: the workers of class cpu are groups of 2 hosts") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
}

// A member's own failure becomes the job's, with its kind; the next attempt is complete again.
func TestAMembersFailureIsTheJobs(t *testing.T) {
	t.Parallel()
	failures := map[runner.Kind]events.FailureKind{
		runner.KindModule: events.FailureModule, runner.KindCrash: events.FailureCrash, runner.KindHost: events.FailureUnavailable,
	}
	for kind, want := range failures {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			tries := 0
			fails := func(ctx context.Context, a module.Assignment) (runner.Outcome, error) {
				if tries++; tries == 1 {
					return runner.Outcome{}, &runner.Error{Kind: kind, Err: errors.New("too hot"), LogTail: "the end"}
				}
				return trainsOn(ctx, a)
			}
			led := 0
			leads := func(ctx context.Context, a module.Assignment) (runner.Outcome, error) {
				if led++; led == 1 {
					return trainsOn(ctx, a)
				}
				return writesModel(a)
			}
			w := groupOf(t, plays(leads), plays(fails), asItIs)
			_, err := w.lead(t, job(t, "j1", "monday", togetherSpec), "a1")
			failure, ok := errors.AsType[*events.Failure](err)
			if !ok || failure.Kind != want || !strings.Contains(failure.Error(), "host 1 (host1:7070)") || failure.LogTail != "the end" {
				t.Errorf("kind %q of %v", kindOf(err), err)
			}
			if _, err := w.lead(t, job(t, "j1", "monday", togetherSpec), "a2"); err != nil {
				t.Errorf("the next attempt: %v", err)
			}
		})
	}
}

func TestAMemberThatSeesOtherInputsDoesNotTrain(t *testing.T) {
	t.Parallel()
	w := groupOf(t, plays(trainsOn), plays(succeeds), func(s storage.Store) storage.Store {
		other := setup(t, nil)
		other.put(t, "up/tx/Split-train/data-0", "other rows")
		return other.store
	})
	_, err := w.lead(t, job(t, "j1", "monday", togetherSpec), "a1")
	if kindOf(err) != events.FailureUnavailable || !strings.Contains(err.Error(), "at the leader: ") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
}
