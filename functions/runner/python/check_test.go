package python_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// checked checks an interpreter that has tensorflow and tfx_bsl, and prints says when it is to
// import them.
func checked(t *testing.T, says string) (python.Checked, error) {
	t.Helper()
	dir := t.TempDir()
	f := whole()
	f.modules = []string{"tensorflow", "tfx_bsl", "tf_keras"}
	real := f.write(t, dir)
	path := program(t, filepath.Join(dir, "python"), fmt.Sprintf(`case "$3" in *"Imports what"*) %s;; *) exec %s "$@";; esac`, says, real))
	e, err := python.Find(t.Context(), python.Options{Named: path})
	if err != nil {
		t.Fatal(err)
	}
	e.Interpreter = path
	return python.Check(t.Context(), e)
}

func TestACheckSaysWhatCameOfEachImport(t *testing.T) {
	t.Parallel()
	c, err := checked(t, `echo '{"package": "tensorflow", "version": "2.21.0"}'; printf '%s\n' '{"package": "tfx-bsl", "problem": "ImportError: a\nb"}'
		echo '{"package": "tf_keras", "version": "2.21.0"}'; echo '{"gpus": 2}'`)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range c.Packages {
		lines = append(lines, p.Package+" "+p.Version+p.Problem)
	}
	want := "tensorflow 2.21.0, tensorflow-transform missing, tfx-bsl ImportError: a b, keras-tuner missing, tensorboard missing, tf_keras 2.21.0"
	if got := strings.Join(lines, ", "); got != want || c.GPUs != 2 {
		t.Errorf("%s, and %d GPUs, want %s", got, c.GPUs, want)
	}
	if !strings.HasSuffix(c.Packages[1].Add, " -m pip install tensorflow-transform") || c.Packages[0].Add != "" {
		t.Errorf("to add: %q, %q", c.Packages[1].Add, c.Packages[0].Add)
	}
	if err := c.Usable(); err != nil {
		t.Errorf("modules that don't need tfx-bsl run: %v", err)
	}
}

func TestAnImportThatEndsTheProcessIsNamed(t *testing.T) {
	t.Parallel()
	c, err := checked(t, `echo "illegal instruction" >&2; kill -9 $$`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Packages[0].Problem; got != "its import ended the process: signal: killed: illegal instruction" {
		t.Errorf("tensorflow: %s", got)
	}
	if got := c.Packages[2].Problem; !strings.HasPrefix(got, "not tried") {
		t.Errorf("tfx-bsl: %s", got)
	}
	if err := c.Usable(); err == nil || !strings.Contains(err.Error(), "illegal instruction") {
		t.Error(err)
	}
}
