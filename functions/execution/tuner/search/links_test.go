package search

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

// A module may replace files that the worker reads and writes in its directories by links and
// pipes.
func TestTheWorkerFollowsNoLinkOfAModule(t *testing.T) {
	t.Parallel()
	victim := filepath.Join(t.TempDir(), "precious")
	trial := filepath.Join(t.TempDir(), "trials", "0001")
	working, stop := filepath.Join(trial, "working"), filepath.Join(trial, "stop")
	best, results := filepath.Join(t.TempDir(), "best"), filepath.Join(t.TempDir(), "results")
	err := errors.Join(
		os.WriteFile(victim, []byte("precious"), 0o600), os.MkdirAll(working, 0o700), os.MkdirAll(best, 0o700), os.MkdirAll(results, 0o700),
		os.Symlink(victim, stop), os.Symlink(victim, filepath.Join(working, curvesFile)), os.Symlink(victim, filepath.Join(best, bestFile)),
		os.Symlink(victim, filepath.Join(results, resultsFile)), os.Symlink(filepath.Dir(victim), filepath.Join(results, studyFolder)),
	)
	if err != nil {
		t.Fatal(err)
	}
	NewMonitor("0001", stop, Curves{}).End(false)
	if info, err := os.Lstat(stop); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the trial is not stopped: %v", err)
	}
	if err := (Curves{}).With(working, func() error { return nil }); err != nil {
		t.Error(err)
	}
	study := tune.Study{Config: tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}},
		Trials: []*tune.Trial{{ID: "0001", Status: tune.Completed, Metrics: map[string]float64{"loss": 1}}}}
	if err := Leave(&study, nil, best, results); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the worker's file holds %q, %v", text, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(entries) != 1 {
		t.Errorf("the directory of the worker's file has %v, %v", entries, err)
	}
}

func TestTheWorkerWaitsForNoPipeOfAModule(t *testing.T) {
	t.Parallel()
	working := filepath.Join(t.TempDir(), "0001", "working")
	err := errors.Join(os.MkdirAll(working, 0o700), syscall.Mkfifo(filepath.Join(working, curvesFile), 0o600),
		syscall.Mkfifo(filepath.Join(working, bestFile), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if curves := TakeCurves(working); len(curves) != 0 {
		t.Errorf("curves %v", curves)
	}
	if _, err := ReadBest(working); err == nil {
		t.Error("a pipe was read")
	}
}
