package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tftest"
	"github.com/stoker-ml/stoker/functions/guest/process"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// A file of TFX's is foreign code: what the settings name as credentials and those of the local stack are hidden from it.
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
	root := newRoot(&app{stdout: terminal.NewStream(&out), stderr: terminal.NewStream(&notes)})
	root.SetArgs([]string{"from-tfx", path, "--timeout", "5m", "--data", data, "--nats-nkey", filepath.Join(data, "bus.nk")})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err, notes.String())
	}
	if process.CanSandbox() == nil && strings.Count(out.String(), "PermissionError") != 2 {
		t.Errorf("it has read credentials: %s", out.String())
	}
}
