//go:build publishers

package publishers_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/integrate/bridge/endpoint"
)

// python installs the publishers' packages from PyPI into a temporary environment, and returns a
// function that runs a file in it.
func python(t *testing.T, file string) publisher {
	t.Helper()
	venv := t.TempDir()
	for _, line := range [][]string{
		{"python3", "-m", "venv", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "--quiet", "-r", "python/requirements.txt"},
	} {
		if said, err := exec.CommandContext(t.Context(), line[0], line[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", line, err, said)
		}
	}
	return func(t *testing.T, env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), append([]string{file}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
}

func TestPythonPublishes(t *testing.T) {
	t.Parallel()
	check(t, python(t, "python/publish.py"))
}

// The official SDK for Python publishes over HTTP in each content mode.
func TestPythonPublishesOverHTTP(t *testing.T) {
	t.Parallel()
	publish := python(t, "python/publish_http.py")
	file := filepath.Join(t.TempDir(), "data.json")
	must(t, os.WriteFile(file, []byte(data), 0o600))
	for _, mode := range []string{"binary", "structured", "batch"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := keyed(t)
			e, err := endpoint.New(b.bus, endpoint.Options{Token: func() string { return "0123456789abcdef" }, Pipelines: []string{"penguin"}})
			must(t, err)
			server := httptest.NewServer(e)
			t.Cleanup(server.Close)
			env := []string{"STOKER_BRIDGE_URL=" + server.URL, "STOKER_BRIDGE_TOKEN=0123456789abcdef"}
			for range 2 {
				if said, err := publish(t, env, "examples.ready", "penguin", run, file, mode); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
			wantEvent(t, b)
			for want, c := range map[string]struct{ env, pipeline string }{
				"401: expected Authorization": {"STOKER_BRIDGE_TOKEN=another-token-16", "penguin"},
				"403: none of":                {env[1], "taxi"},
			} {
				if said, err := publish(t, []string{env[0], c.env}, "examples.ready", c.pipeline, run, file, mode); err == nil || !strings.Contains(said, want) {
					t.Errorf("%v: %s, want %q", err, said, want)
				}
			}
			wantEvent(t, b)
		})
	}
}
