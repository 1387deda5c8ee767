package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// Between the digest by which a job is known and its run a module may change: what was run is told.
func TestWhatWasRunIsToldByItsDigest(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	a := pythonAssignment(t, "def run_fn(fn_args):\n    pass\n")
	digest := func(source module.Source) string {
		t.Helper()
		d, err := host.Digest(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := digest(a.Module)
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.Module != before {
		t.Errorf("ran %s, %v, want %s", outcome.Module, err, before)
	}
	if err := os.WriteFile(a.Module.Path, []byte("def run_fn(fn_args):\n    print()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	outcome, err = host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.Module == before || outcome.Module != digest(a.Module) {
		t.Errorf("ran %s, %v, which was %s", outcome.Module, err, before)
	}

	plain, users, all := a.Module, a.Module, a.Module
	users.Autograph, all.Autograph = module.AutographUser, module.AutographAll
	if digest(plain) != digest(users) || digest(plain) == digest(all) {
		t.Error("how AutoGraph converts is part of what is run where it is set")
	}
}

func TestAFullDiskIsNoFaultOfAPipelines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "bin", "python")
	answer := fmt.Sprintf(`{"interpreter": %q, "version": "3.11.7", "packages": {"tensorflow": "2.21.0"}, "modules": ["tensorflow"], "sites": []}`, path)
	script := fmt.Sprintf("#!/bin/sh\n[ \"$2\" = -c ] && echo '%s' && exit\necho 'OSError: [Errno 28] No space left on device' >&2; exit 1\n", answer)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock() // else a process that another test starts holds the file open: "text file busy"
	err := os.WriteFile(path, []byte(script), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	host, err := runner.New(runner.Options{Python: path, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	a := pythonAssignment(t, "def run_fn(fn_args):\n    pass\n")
	a.Module.Requirements = []string{"humanize"}
	if _, err := host.Run(t.Context(), a, runner.Limits{}, nil); err == nil || asError(t, err).Kind != runner.KindHost {
		t.Errorf("%v, want a fault of the host's", err)
	}
}
