package python_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// A pipeline names the interpreter, and thus the program that is asked.
func TestAnInterpreterThatIsAskedLearnsNoSecrets(t *testing.T) {
	t.Setenv("NATS_CREDS", "a-secret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
	t.Setenv("PIP_INDEX_URL", "https://me:a-secret@registry.example")
	dir := t.TempDir()
	path := program(t, filepath.Join(dir, "python"), "(echo; env) >> "+dir+"/env; exec "+whole().write(t, dir))
	if _, err := python.Find(t.Context(), python.Options{Named: path}); err != nil {
		t.Fatal(err)
	}
	if err := outlineError(t, python.Environment{Interpreter: path}, "m.py"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || strings.Contains(string(text), "a-secret") || strings.Count(string(text), "\nPATH=") != 2 {
		t.Errorf("it was given %s, %v", text, err)
	}
}
