package runner_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
)

// Without a cgroup, and with a process that took off its mark, its session and its parent. It is not parallel: the process of a job may be
// that of any job that ran beside it, and then lives as long as that.
func TestAProcessThatHidesItsOriginEndsWithItsJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	a := assignment(t, "fork away unmarked")
	a.CustomConfig["file"] = file
	if _, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	waitUntilGone(t, file)
}
