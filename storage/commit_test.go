package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
	"golang.org/x/sync/errgroup"
)

func commit(attempt string) storage.Commit {
	return storage.Commit{Execution: execution, Attempt: attempt, Time: time.Unix(1, 0).UTC()}
}

// done returns a store with one execution published and committed.
func done(t *testing.T) (*storagetest.Memory, storage.Manifest) {
	t.Helper()
	store := storagetest.NewMemory()
	m := publish(t, store, publication(t, "a1"))
	if _, won, err := storage.PutCommit(t.Context(), store, trainer, commit("a1")); err != nil || !won {
		t.Fatal(won, err)
	}
	return store, m
}

func TestACommitNamesItsManifest(t *testing.T) {
	t.Parallel()
	store, _ := done(t)
	c, _, err := storage.Committed(t.Context(), store, trainer, execution)
	place := storage.Place{Root: trainer, Execution: execution, Attempt: "a1"}
	if err != nil || c.Manifest != place.Manifest().String() {
		t.Errorf("names %q, %v", c.Manifest, err)
	}
	none := storage.Commit{Execution: execution, Attempt: "cancel", Cancelled: true}
	if c, _, err := storage.PutCommit(t.Context(), storagetest.NewMemory(), trainer, none); err != nil || c.Manifest != "" {
		t.Errorf("of a cancelled one: names %q, %v", c.Manifest, err)
	}
}

func TestOneOfManyAttemptsWins(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	var winners atomic.Int64
	var g errgroup.Group
	for i := range 32 {
		g.Go(func() error {
			c := commit(fmt.Sprintf("a%d", i))
			winner, won, err := storage.PutCommit(t.Context(), store, trainer, c)
			if won {
				winners.Add(1)
			}
			if won != (winner.Attempt == c.Attempt) || winner.ETag == "" {
				return fmt.Errorf("won is %v, winner %+v", won, winner)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil || winners.Load() != 1 {
		t.Errorf("%d winners, %v", winners.Load(), err)
	}
}

func TestACommitWhoseAnswerWasLostIsFoundToBeOurs(t *testing.T) {
	t.Parallel()
	store := storagetest.Faulty(storagetest.NewMemory(), storagetest.Nth(storagetest.OpPutIf, 0, storagetest.Fault{LoseAnswer: true}))
	winner, won, err := storage.PutCommit(t.Context(), store, trainer, commit("a1"))
	if err != nil || !won || winner.Attempt != "a1" {
		t.Errorf("%+v, %v, %v", winner, won, err)
	}
	// The job is delivered again: the same attempt commits again.
	if _, won, err := storage.PutCommit(t.Context(), store, trainer, commit("a1")); err != nil || !won {
		t.Errorf("again: %v, %v", won, err)
	}
}

func TestACommitThatWasNeverWrittenIsUnavailable(t *testing.T) {
	t.Parallel()
	refuse := storagetest.Fault{Refuse: storage.ErrUnavailable}
	store := storagetest.Faulty(storagetest.NewMemory(), storagetest.Nth(storagetest.OpPutIf, 0, refuse))
	_, won, err := storage.PutCommit(t.Context(), store, trainer, commit("a1"))
	if won || !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrNotFound) {
		t.Errorf("%v, %v", won, err)
	}
}

func TestCancelAndCommitObeyWhoeverCameFirst(t *testing.T) {
	t.Parallel()
	cancel := storage.Commit{Execution: execution, Attempt: "cancel-1", Cancelled: true}
	for _, first := range []storage.Commit{cancel, commit("a1")} {
		store := storagetest.NewMemory()
		for _, c := range []storage.Commit{first, cancel, commit("a1")} {
			winner, won, err := storage.PutCommit(t.Context(), store, trainer, c)
			if err != nil || winner.Cancelled != first.Cancelled || won != (c == first) {
				t.Errorf("first %+v, then %+v: %+v, %v, %v", first, c, winner, won, err)
			}
		}
	}
}

func TestCommittedFindsTheOutcome(t *testing.T) {
	t.Parallel()
	store, m := done(t)
	c, found, err := storage.Committed(t.Context(), store, trainer, execution)
	if err != nil || c.Attempt != "a1" || found.Outputs["model"].Digest != m.Outputs["model"].Digest {
		t.Errorf("%+v, %+v, %v", c, found, err)
	}
	_, _, err = storage.Committed(t.Context(), store, trainer, "sha256:"+strings.Repeat("f", 64))
	if !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("another execution: %v", err)
	}
}

func TestCommittedFindsACancellation(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	if _, _, err := storage.PutCommit(t.Context(), store, trainer, storage.Commit{Execution: execution, Attempt: "c", Cancelled: true}); err != nil {
		t.Fatal(err)
	}
	c, m, err := storage.Committed(t.Context(), store, trainer, execution)
	if err != nil || !c.Cancelled || m.Outputs != nil {
		t.Errorf("%+v, %+v, %v", c, m, err)
	}
}

func TestAReplacedCommitKeepsCountOfItsModels(t *testing.T) {
	t.Parallel()
	store, _ := done(t)
	old, _, err := storage.Committed(t.Context(), store, trainer, execution)
	if err != nil {
		t.Fatal(err)
	}
	next := commit("a1") // the same attempt, again
	next.Generation, next.Job = 2, "job-2"
	winner, won, err := storage.Recommit(t.Context(), store, trainer, old, next)
	if err != nil || !won {
		t.Fatal(won, err)
	}
	if c, err := storage.CommitOf(t.Context(), store, trainer, execution); err != nil || c.Generation != 2 || c.Job != "job-2" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, _, err := storage.Recommit(t.Context(), store, trainer, winner, commit("a2")); err == nil {
		t.Error("a generation was counted back")
	}
	// A second writer with the same old commit does not win.
	if _, won, err := storage.Recommit(t.Context(), store, trainer, old, commit("a1")); err != nil || won {
		t.Errorf("%v, %v", won, err)
	}
}

func TestACommitThatIsNoJSONCanBeReplaced(t *testing.T) {
	t.Parallel()
	store, _ := done(t)
	put(t, store, place("a1").Commit(), "{")
	broken, _, err := storage.Committed(t.Context(), store, trainer, execution)
	if !errors.Is(err, storage.ErrIncomplete) {
		t.Fatal(err)
	}
	if _, won, err := storage.Recommit(t.Context(), store, trainer, broken, commit("a1")); err != nil || !won {
		t.Error(won, err)
	}
}

// The objects of a commit can get lost in many ways. Each is detected, and the commit of the
// repeated work replaces it.
func TestACommitWithoutItsObjectsIsReplaced(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*storagetest.Memory, storage.Manifest) error{
		"manifest gone": func(s *storagetest.Memory, _ storage.Manifest) error {
			return s.Delete(t.Context(), publication(t, "a1").Place().Manifest())
		},
		"manifest is no manifest": func(s *storagetest.Memory, _ storage.Manifest) error {
			put(t, s, publication(t, "a1").Place().Manifest(), "{")
			return nil
		},
		"object gone": func(s *storagetest.Memory, m storage.Manifest) error {
			return s.Delete(t.Context(), file(m))
		},
		"object of another size": func(s *storagetest.Memory, m storage.Manifest) error {
			put(t, s, file(m), "longer than it was")
			return nil
		},
		"other object of the same size": func(s *storagetest.Memory, m storage.Manifest) error {
			put(t, s, file(m), "GRAPH")
			return nil
		},
	} {
		store, m := done(t)
		if err := spoil(store, m); err != nil {
			t.Fatal(err)
		}
		broken, _, err := storage.Committed(t.Context(), store, trainer, execution)
		if !errors.Is(err, storage.ErrIncomplete) || errors.Is(err, storage.ErrNotFound) || broken.Attempt != "a1" {
			t.Errorf("%s: %+v, %v", name, broken, err)
			continue
		}
		publish(t, store, publication(t, "a2"))
		if _, won, err := storage.Recommit(t.Context(), store, trainer, broken, commit("a2")); err != nil || !won {
			t.Errorf("%s: recommit: %v, %v", name, won, err)
		}
		winner, won, err := storage.Recommit(t.Context(), store, trainer, broken, commit("a3"))
		if err != nil || won || winner.Attempt != "a2" {
			t.Errorf("%s: second recommit: %+v, %v, %v", name, winner, won, err)
		}
		if c, _, err := storage.Committed(t.Context(), store, trainer, execution); err != nil || c.Attempt != "a2" {
			t.Errorf("%s: then %+v, %v", name, c, err)
		}
	}
}

func file(m storage.Manifest) storage.Ref {
	uri, err := storage.ParseRef(m.Outputs["model"].URI)
	if err != nil {
		panic(err)
	}
	return uri.Join("Format-Serving/saved_model.pb")
}

func TestARecommitThatNeverHappenedIsNotMistakenForALoss(t *testing.T) {
	t.Parallel()
	mem, _ := done(t)
	broken, _, err := storage.Committed(t.Context(), mem, trainer, execution)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		fault storagetest.Fault
		won   bool
	}{
		"refused":     {storagetest.Fault{Refuse: storage.ErrUnavailable}, false},
		"answer lost": {storagetest.Fault{LoseAnswer: true}, true},
	} {
		store := storagetest.Faulty(mem, storagetest.Nth(storagetest.OpPutIf, 0, tc.fault))
		winner, won, err := storage.Recommit(t.Context(), store, trainer, broken, commit("a2"))
		if won != tc.won || (err == nil) != tc.won {
			t.Errorf("%s: %+v, %v, %v", name, winner, won, err)
		}
		if won {
			broken = winner
		}
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if !tc.won { // nothing was replaced
			if c, _, err := storage.Committed(t.Context(), mem, trainer, execution); err != nil || c.ETag != broken.ETag {
				t.Errorf("%s: now %+v, %v", name, c, err)
			}
			continue
		}
		if _, _, err := storage.PutCommit(t.Context(), mem, trainer, commit("a3")); err != nil {
			t.Error(err)
		}
		// Restore the first commit for the next case.
		if back, _, err := storage.Recommit(t.Context(), mem, trainer, broken, commit("a1")); err != nil {
			t.Fatal(err)
		} else {
			broken = back
		}
	}
}

func TestDiscardRemovesALoserAndNothingElse(t *testing.T) {
	t.Parallel()
	store, _ := done(t)
	before := strings.Join(keys(t, store), "\n")
	p := publication(t, "a2")
	publish(t, store, p)
	for range 2 {
		if err := storage.Discard(t.Context(), store, p.Place(), "model", "model_run"); err != nil {
			t.Error(err)
		}
	}
	if after := strings.Join(keys(t, store), "\n"); after != before {
		t.Errorf("now\n%s\nwas\n%s", after, before)
	}
	if err := storage.Discard(t.Context(), store, publication(t, "a1").Place(), "model"); err == nil {
		t.Error("discarded the winner")
	}
	if after := strings.Join(keys(t, store), "\n"); after != before {
		t.Error("took something from the winner")
	}
}

func TestProbeRefusesAStoreWithoutConditions(t *testing.T) {
	t.Parallel()
	err := storage.Probe(t.Context(), careless{storagetest.NewMemory()}, root)
	if !errors.Is(err, storage.ErrNoConditions) || !strings.Contains(err.Error(), "the careless store: ignores If-None-Match") {
		t.Error(err)
	}
}

// Whatever is stored where a commit or a manifest belongs, the execution can be done again over it.
func TestWhatIsNoCommitCanBeReplaced(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		fmt.Sprintf(`{"execution":%q,"attempt":"../x"}`, execution), fmt.Sprintf(`{"execution":%q}`, execution),
		fmt.Sprintf(`{"execution":%q,"attempt":"a1","generation":-1}`, execution), "garbage", "{}",
	} {
		store := storagetest.NewMemory()
		put(t, store, storage.Place{Root: trainer, Execution: execution}.Commit(), text)
		broken, _, err := storage.Committed(t.Context(), store, trainer, execution)
		if !errors.Is(err, storage.ErrIncomplete) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		broken.Generation = 0
		if _, won, err := storage.Recommit(t.Context(), store, trainer, broken, commit("a2")); err != nil || !won {
			t.Errorf("%s: replaced: %v, %v", text, won, err)
		}
	}
	store, m := done(t)
	path := publication(t, "a1").Place()
	text := fmt.Sprintf(`{"execution":%q,"attempt":"a1","outputs":{"model":{"uri":%q,"digest":"x","files":[{"path":"a//b"}]}}}`, execution, m.Outputs["model"].URI)
	put(t, store, path.Manifest(), text)
	if _, _, err := storage.Committed(t.Context(), store, trainer, execution); !errors.Is(err, storage.ErrIncomplete) || errors.Is(err, storage.ErrBadRef) {
		t.Errorf("a manifest with a path that is none: %v", err)
	}
}
