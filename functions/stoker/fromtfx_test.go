package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// A TFX file is untrusted code: credentials named by the settings, and those of the local stack,
// are hidden from it.
func TestAFileOfTFXReadsNoCredentials(t *testing.T) {
	t.Parallel()
	tftest.Python3(t)
	dir, data := t.TempDir(), t.TempDir()
	text := fmt.Sprintf(`
from tfx import v1 as tfx
said = {}
for name in ("connection.json", "bus.nk"):
  try:
    said[name] = open(%q + "/" + name).read()
  except OSError as error:
    said[name] = type(error).__name__
tfx.components.Trainer(module_file="m.py", custom_config=said)
`, data)
	path := filepath.Join(dir, "p.py")
	if err := errors.Join(
		os.WriteFile(path, []byte(text), 0o600), os.WriteFile(filepath.Join(data, "connection.json"), []byte("hunter2"), 0o600),
		os.WriteFile(filepath.Join(data, "bus.nk"), []byte("hunter2"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	root := newRoot(&app.App{Stdout: terminal.NewStream(&out), Stderr: terminal.NewStream(&notes)})
	root.SetArgs([]string{"from-tfx", path, "--timeout", "5m", "--data", data, "--nats-nkey", filepath.Join(data, "bus.nk")})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err, notes.String())
	}
	if process.CanSandbox() == nil && strings.Count(out.String(), "PermissionError") != 2 {
		t.Errorf("it has read credentials: %s", out.String())
	}
}

// A module named relative to the user's home directory exists when the pipeline file is used. The
// file sees the name of the directory, but can't write there or read credentials in it.
func TestAFileOfTFXNamesTheUsersHome(t *testing.T) {
	home, temporary, dir := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", temporary)
	path := filepath.Join(dir, "p.py")
	fromTFX := func(text string) (string, string, error) {
		if err := os.WriteFile(path, []byte("import os, pathlib, tempfile\nfrom tfx import v1 as tfx\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, notes bytes.Buffer
		root := newRoot(&app.App{Stdout: terminal.NewStream(&out), Stderr: terminal.NewStream(&notes)})
		root.SetArgs([]string{"from-tfx", path, "--timeout", "5m", "--data", filepath.Join(dir, "data")})
		err := root.ExecuteContext(t.Context())
		return out.String(), notes.String(), err
	}
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"os.environ['HOME']", "os.path.expanduser('~')", "str(pathlib.Path.home())", "pathlib.Path('~').expanduser()"} {
		out, notes, err := fromTFX(`
seen = {}
for what, do in {"read": lambda: open(os.path.expanduser("~/.netrc")).read(), "write": lambda: open(os.path.expanduser("~/new"), "w")}.items():
  try:
    do()
    seen[what] = "done"
  except OSError as error:
    seen[what] = type(error).__name__
with tempfile.TemporaryFile() as file: # may be written
  file.write(b"x")
tfx.components.Trainer(module_file=os.path.join(` + name + `, "taxi", "utils.py"), custom_config={
  "temporary": os.path.join(tempfile.gettempdir(), "x"), "by_name": os.environ["TMPDIR"], **seen})
`)
		if err != nil {
			t.Fatal(err, notes)
		}
		for _, want := range []string{"module: " + home + "/taxi/utils.py\n", "temporary: " + temporary + "/x\n", "by_name: " + temporary + "\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in %s", name, want, out)
			}
		}
		if strings.Contains(out+notes, "stoker-confined") {
			t.Errorf("%s: a folder that is removed is named: %s%s", name, out, notes)
		}
		if process.CanSandbox() == nil && strings.Count(out, "PermissionError") != 2 {
			t.Errorf("%s: it read or wrote in the home directory: %s", name, out)
		}
	}
	// A file written to the temporary folder of the pipeline's file is gone.
	_, _, err := fromTFX("tfx.components.Trainer(module_file=os.path.join(tempfile.mkdtemp(), 'utils.py'))\n")
	if err == nil || !strings.Contains(err.Error(), "p.py:3: Trainer: module_file "+temporary) || !strings.Contains(err.Error(), "is removed: write the module to a file that stays") {
		t.Errorf("got %v", err)
	}
	out, notes, err := fromTFX("tfx.components.Trainer(module_file='m.py', custom_config={'cache': tempfile.mkdtemp()})\n")
	if err != nil || !strings.Contains(notes, "line 3: Trainer: an argument names "+temporary) || strings.Contains(out, "stoker-confined") {
		t.Errorf("got %s, %s, %v", out, notes, err)
	}
}
