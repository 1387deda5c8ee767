//go:build mutations

package chaos

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each guard is needed: without it, a test fails.
func TestMutationsAreNoticed(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			m.mustBeNoticed(t, m.build(t))
		})
	}
}

// build compiles the tests, and with them the product, with the edits.
func (m mutation) build(t *testing.T) (binary string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, texts := t.TempDir(), map[string]string{}
	for _, e := range m.edits {
		file := filepath.Join(root, e.file)
		text, ok := texts[file]
		if !ok {
			read, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = string(read)
		}
		if strings.Count(text, e.old) != 1 {
			t.Fatalf("%s holds %d times, not once: %s", e.file, strings.Count(text, e.old), e.old)
		}
		texts[file] = strings.Replace(text, e.old, e.with, 1)
	}
	replace := map[string]string{}
	for file, text := range texts {
		replace[file] = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(file, root), "/", "_"))
		if err := os.WriteFile(replace[file], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutated.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "cluster", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, m.tests.at())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build with the edits: %v\n%s", err, out)
	}
	return binary
}

// mustBeNoticed checks that a test of the binary fails for the expected reason, and logs how it
// fails.
func (m mutation) mustBeNoticed(t *testing.T, binary string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-test.failfast", "-test.timeout", "25m", "-test.run", m.tests.tests)
	cmd.Dir = m.tests.at()
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Fatal("no test fails without this guard")
	case !strings.Contains(string(out), "--- FAIL"):
		t.Fatalf("the tests did not run: %v\n%s", err, out)
	case !regexp.MustCompile(m.tests.because).Match(out):
		t.Fatalf("the test fails for another reason than %q:\n%s", m.tests.because, out)
	}
	t.Logf("noticed:\n%s", out)
}
