package tftest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Python3 returns the path of the machine's own python3, for tests that need its standard library
// alone. Without one the test is skipped and says so, as with -short; with STOKER_TENSORFLOW=live
// or record, as in CI, it fails.
func Python3(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs python3; -short leaves it out")
	}
	python, err := FindPython3()
	if err != nil {
		t.Fatal(err)
	}
	if python == "" {
		t.Skip(WithoutPython3)
	}
	return python
}

// WithoutPython3 says why a test is skipped where FindPython3 finds nothing.
const WithoutPython3 = "needs python3 (3.10 or later, Debian's package python3-venv) on the PATH, and only its standard library"

// FindPython3 returns the path of the machine's own python3, or "" where there is none and tests
// that need one are skipped. It returns an error where none of them may be.
func FindPython3() (string, error) {
	m, err := currentMode()
	if err != nil {
		return "", err
	}
	python, err := exec.LookPath("python3")
	if err != nil && m != golden {
		return "", fmt.Errorf("test with %s=%s: %w: %s", modeVariable, os.Getenv(modeVariable), err, WithoutPython3)
	}
	if err != nil {
		return "", nil
	}
	return python, nil
}
