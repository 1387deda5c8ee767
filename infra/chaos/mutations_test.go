//go:build mutations

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mutationSeeds is how many plans may pass before a mutation counts as unnoticed: what it breaks depends on times.
const mutationSeeds = 3

// Each guard is needed: without it, a test fails. -seed is the first seed, -jobs the operations of each.
func TestMutationsAreNoticed(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			binary, first, seeds := m.build(t), newPlan(t, *jobsFlag).seed, uint64(mutationSeeds)
			if m.tests.tests != "" {
				seeds = 1 // they have none
			}
			for i := range seeds {
				if m.noticed(t, binary, first+i) {
					return
				}
			}
			t.Errorf("no test fails without this guard, with %d seeds", seeds)
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

// noticed says whether a test of the binary fails, and logs how.
func (m mutation) noticed(t *testing.T, binary string, seed uint64) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	args := []string{"-test.v", "-test.failfast", "-test.timeout", "25m", "-test.run"}
	if m.tests.tests != "" {
		args = append(args, m.tests.tests)
	} else {
		args = append(args, "OperationsOnThreeServers", "-only", m.tests.operations, "-seed", fmt.Sprint(seed), "-jobs", fmt.Sprint(*jobsFlag))
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = m.tests.at()
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if !strings.Contains(string(out), "--- FAIL") {
		t.Fatalf("the tests did not run: %v\n%s", err, out)
	}
	report, _, _ := strings.Cut(string(out), "what was done:") // behind it come the plan and the ends of logs
	if !regexp.MustCompile(m.tests.because).MatchString(report) {
		t.Fatalf("the test fails for another reason than %q:\n%s", m.tests.because, report)
	}
	t.Logf("noticed with seed %d:\n%s", seed, report)
	return true
}
