//go:build targets

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The targets of the Containerfile are built by buildah, unchanged. Their bases are made of
// Debian's packages, since no registry is used.
func TestTargets(t *testing.T) {
	store := imageStore(t)
	t.Run("estimator trains a module with trainer_fn", func(t *testing.T) {
		trainsTFX(t, target(t, store, "estimator"), "functions/runner/testdata/chicago_taxi/taxi_estimator.py", "local/examples/taxi/data", "2.15.",
			// The schema of raw examples, which the model serves.
			"--schema", "/mnt/local/examples/taxi/data/transform_graph/metadata/schema.pbtxt")
	})
	t.Run("python and cuda", func(t *testing.T) {
		python := target(t, store, "python")
		t.Run("python trains a TFX module", func(t *testing.T) {
			trainsTFX(t, python, "local/examples/penguin_tfx/penguin_utils.py", "local/demo/data", "2.21.")
		})
		compiled := target(t, store, "build-cuda")
		t.Run("stoker-cuda says that there is no GPU", func(t *testing.T) { saysNoGPU(t, compiled, python) })
	})
}

// trainsTFX has a module file train on data, both named from the repository's root, as user 65532,
// without capabilities, on a read-only root.
func trainsTFX(t *testing.T, image builtImage, module, data, tensorflow string, more ...string) {
	c := image.config.Config
	if c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/usr/bin/stoker" || c.WorkingDir != "/tmp" {
		t.Errorf("user %q, entry point %q, folder %q", c.User, c.Entrypoint, c.WorkingDir)
	}
	for _, shell := range []string{"/bin/sh", "/usr/bin/sh", "/usr/bin/dpkg"} {
		if _, err := os.Stat(image.root + shell); err == nil {
			t.Errorf("it has %s", shell)
		}
	}
	repository, err := filepath.Abs("../..")
	must(t, err)
	env := append(slices.Clone(c.Env), "SEEN="+repository)
	try := append([]string{
		"/usr/bin/stoker", "try", "/mnt/" + module,
		"--examples", "/mnt/" + data + "/transformed_examples", "--transform-graph", "/mnt/" + data + "/transform_graph",
		"--train-steps", "20", "--eval-steps", "2", "--to", "/tmp/model",
	}, more...)
	out := say(t, confined(t, image.root, env, try...))
	if !strings.Contains(out, "metrics  accuracy ") {
		t.Errorf("no model came of it:\n%s", out)
	}
	out = say(t, confined(t, image.root, env, "/usr/bin/stoker", "python", "check", "-o", "json"))
	if strings.Contains(out, `"problem"`) || !strings.Contains(out, `"/opt/stoker/`) || !strings.Contains(out, `"`+tensorflow) {
		t.Errorf("its packages:\n%s", out)
	}
}

// saysNoGPU starts stoker-cuda, which the stage build-cuda compiled, on the base that it is shipped
// on: it loads, and reports in one line that there is no GPU. The target cuda itself, 6 GB of
// NVIDIA's libraries, is not built here.
func saysNoGPU(t *testing.T, compiled, base builtImage) {
	cmd := confined(t, base.root, []string{"SEEN=" + compiled.root + "/out", "CUDA_VISIBLE_DEVICES=-1"}, "/mnt/stoker-cuda", "probe")
	out, err := cmd.CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 1 || !strings.Contains(string(out), "NoDevice") {
		t.Errorf("%v, expected exit status 1 and a line that there is no device:\n%s", err, out)
	}
}

// builtImage is a mounted image that buildah built.
type builtImage struct {
	root   string
	config v1.ConfigFile
}

// imageStore returns where images are kept: a folder of the test's own, or the one that
// STOKER_IMAGES names, whose bases are then made once.
func imageStore(t *testing.T) string {
	t.Helper()
	if store := os.Getenv("STOKER_IMAGES"); store != "" {
		return store
	}
	store, err := os.MkdirTemp("/var/tmp", "stoker-images-") // not in memory
	must(t, err)
	t.Cleanup(func() {
		_ = exec.Command("umount", store+"/kept/overlay").Run() // buildah's, where it made one
		if err := os.RemoveAll(store); err != nil {
			t.Error(err)
		}
	})
	return store
}

// target builds a target and mounts it.
func target(t *testing.T, store, name string) builtImage {
	t.Helper()
	// A commit, and not the files that happen to be in this directory.
	source := filepath.Join(t.TempDir(), "source")
	say(t, exec.Command("git", "clone", "--quiet", "../..", source))
	build := exec.CommandContext(t.Context(), "./targets.sh", store, name)
	build.Env = append(os.Environ(), "SOURCE="+source)
	say(t, build)

	buildah := func(args ...string) string {
		return strings.TrimSpace(say(t, exec.Command("buildah", append([]string{"--root", store + "/kept", "--runroot", store + "/run"}, args...)...)))
	}
	container := buildah("from", "--pull-never", "localhost/stoker:"+name)
	t.Cleanup(func() { buildah("rm", container) })
	image := builtImage{root: buildah("mount", container)}
	var said struct{ OCIv1 v1.ConfigFile }
	must(t, json.Unmarshal([]byte(buildah("inspect", "--type", "image", "localhost/stoker:"+name)), &said))
	image.config = said.OCIv1
	t.Logf("%s: %s", name, strings.Fields(say(t, exec.Command("du", "-sh", image.root)))[0])
	return image
}

// say runs a command and returns its output.
func say(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, said.String(), failed.String())
	}
	return said.String()
}
