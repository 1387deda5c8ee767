package python

import (
	"os"
	"strings"
	"testing"
)

// Tests run with the versions that users get.
func TestPinsAreThoseThatTestsRunWith(t *testing.T) {
	t.Parallel()
	const tests = "../../../compute/tf/tftest/"
	for _, c := range []struct {
		kind       Kind
		ours, lock string
		more       []string // packages that the tests don't use
	}{
		// The name of tensorflow-cpu on macOS.
		{CPU, "requirements.txt", tests + "requirements.lock", []string{"tensorflow"}},
		{Estimator, "requirements-estimator.txt", tests + "requirements-estimator.lock", nil},
	} {
		lock, err := c.kind.lock()
		if err != nil {
			t.Fatal(err)
		}
		tested, err := os.ReadFile(c.lock)
		if err != nil {
			t.Fatal(err)
		}
		theirs := pins(string(tested))
		for _, name := range c.more {
			theirs[name] = pins(string(lock))[name]
		}
		for name, version := range pins(string(lock)) {
			if theirs[name] != version {
				t.Errorf("%s: %s is %s, and %s in %s", c.kind, name, version, theirs[name], c.lock)
			}
		}
		asked, err := os.ReadFile(c.ours)
		if err != nil {
			t.Fatal(err)
		}
		for name, version := range pins(string(asked)) {
			if pins(string(lock))[name] != version {
				t.Errorf("%s asks for %s %s, and the lock has %s", c.ours, name, version, pins(string(lock))[name])
			}
		}
	}
}

func TestGPUsAreTheDifferenceBetweenTwoKinds(t *testing.T) {
	t.Parallel()
	lock, err := GPU.lock()
	if err != nil {
		t.Fatal(err)
	}
	gpu, cpu := pins(string(lock)), pins(string(cpuLock))
	if gpu["tensorflow"] != cpu["tensorflow-cpu"] || gpu["tensorflow-cpu"] != "" || gpu["nvidia-cudnn-cu12"] == "" {
		t.Errorf("TensorFlow %q, and %q for CPU", gpu["tensorflow"], cpu["tensorflow-cpu"])
	}
	for name, version := range cpu {
		if !strings.HasPrefix(name, "tensorflow") && gpu[name] != version {
			t.Errorf("%s is %q, and %s for CPU", name, gpu[name], version)
		}
	}
}

// pins returns the packages of a lock with their versions.
func pins(lock string) map[string]string {
	versions := map[string]string{}
	for line := range strings.Lines(lock) {
		line, _, _ = strings.Cut(line, " ;")
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok {
			versions[strings.ReplaceAll(strings.ToLower(name), "_", "-")] = version
		}
	}
	return versions
}
