package trainer_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// raidEnv names a file that is not the module's: the module tries to have the worker read it, and
// write next to it.
const raidEnv = "TRAINER_TEST_RAID"

// raid replaces what the worker reads and writes in the workspace by links, as a module can that no
// sandbox keeps out.
func raid(a *module.Args) {
	secret, workspace := os.Getenv(raidEnv), filepath.Dir(a.WorkingDir)
	for name, target := range map[string]string{"log.txt": secret, "checkpoint-1": filepath.Dir(secret), "checkpoints": filepath.Dir(secret)} {
		path := filepath.Join(workspace, name)
		_ = os.Remove(path)
		_ = os.Symlink(target, path)
	}
	a.Send(module.Message{Type: module.MessageCheckpoint, All: true, Step: 1})
}

func TestAModulePutsNoLinkInThePlaceOfTheLog(t *testing.T) {
	const secret = "aws_secret_access_key=of-the-worker"
	home := t.TempDir()
	file := filepath.Join(home, "credentials")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(raidEnv, file)
	l := openLab(t, storagetest.NewMemory(), storage.Ref{Bucket: "stoker"}, 1)
	if _, err := l.shift(t, l.store, 1, "", func(module.Message) {}).handle(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs := 0
	for object, err := range l.store.List(t.Context(), l.root) {
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := l.store.Open(t.Context(), object.Ref, "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("%s holds a file that is not the module's", object.Ref)
		}
		if !strings.HasSuffix(object.Ref.Key, "log.txt") {
			continue
		}
		logs++
	}
	if logs != 1 {
		t.Errorf("%d logs are in the store, want that of the attempt", logs)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 1 {
		t.Errorf("the file's directory has %v, %v", entries, err)
	}
}
