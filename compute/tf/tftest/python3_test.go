package tftest

import (
	"strings"
	"testing"
)

// Not parallel: it changes the environment.
func TestWithoutPython3TestsAreSkippedButNotWhereAllAreAskedFor(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(modeVariable, "")
	if python, err := FindPython3(); python != "" || err != nil {
		t.Errorf("%q, %v: want neither", python, err)
	}
	for _, mode := range []string{"live", "record", "liv"} {
		t.Setenv(modeVariable, mode)
		if _, err := FindPython3(); err == nil || !strings.Contains(err.Error(), modeVariable) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
