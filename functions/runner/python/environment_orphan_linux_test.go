package python

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installing names a file in which an installer that never ends writes its id: with it set, the
// process runs that installer.
const installing = "STOKER_TEST_INSTALLING"

func TestAnInstallerEndsWithAKilledWorker(t *testing.T) {
	if path := os.Getenv(installing); path != "" {
		_, err := talk(t.Context(), nil, io.Discard, []string{"sh", "-c", "echo $$ > " + path + "; exec sleep 600"}, Needs{})
		t.Fatal(err)
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	worker := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	worker.Env = append(os.Environ(), installing+"="+path)
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	pid := eventually(t, func() string { text, _ := os.ReadFile(path); return strings.TrimSpace(string(text)) })
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait() // it was killed
	eventually(t, func() string {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		// A zombie, on a machine where orphans are not waited for.
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return "gone"
		}
		return ""
	})
}

func eventually(t *testing.T, is func() string) string {
	t.Helper()
	for end := time.Now().Add(8 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if found := is(); found != "" {
			return found
		}
	}
	t.Fatal("waited for two minutes")
	return ""
}
