package runner_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
)

// The kernel limits a forked module as any other, and not the process that it was forked from.
func TestAForkedModuleHasACgroupOfItsOwn(t *testing.T) {
	t.Parallel()
	parent := cgroupForTest(t)
	host := runnerOf(t, runner.Options{Warm: 1, PythonWarm: runner.WarmFork, Cgroup: parent, Env: []string{"STOKER_PRELOAD="}})
	server := serverOf(t, host)
	a := pythonAssignment(t, fmt.Sprintf(tells, `kept = [bytearray(b"x" * 10_000_000) for _ in range(30)]; told = 1`))
	_, err := host.Run(t.Context(), a, bound(100<<20), nil)
	if failed := asError(t, err); failed.Kind != runner.KindResources || !strings.Contains(failed.Error(), "100.0 MiB allowed") {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
	file := filepath.Join(t.TempDir(), "pid")
	told[any](t, host, fmt.Sprintf(`
import subprocess
process = subprocess.Popen(["/bin/sleep", "600"], env={}, start_new_session=True)
open(%q, "w").write(str(process.pid))
told = None`, file))
	waitUntilGone(t, file)
	if after := serverOf(t, host); after != server {
		t.Errorf("the next jobs are forked from process %d, before it was %d", after, server)
	}
	host.Close()
	if left := folders(t, parent); len(left) != 0 {
		t.Errorf("cgroups %q are left", left)
	}
}
