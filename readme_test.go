package stoker_test

import (
	"os"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/readmetest"
)

// TestTheReadmesCommandsDoWhatItSays runs them as on a fresh machine, beginning with git clone. The comment of infra/readmetest says
// how a README marks commands that run in the background, and those that aren't run.
func TestTheReadmesCommandsDoWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the README's commands build the binary and train, for some minutes")
	}
	if deadline, ok := t.Deadline(); ok && time.Until(deadline) < 20*time.Minute {
		t.Skip("left out by go test's ten minutes, which a slow machine needs to compile alone: task readme and task test run it with -timeout 40m")
	}
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := readmetest.Parse("README.md", string(text))
	if err != nil {
		t.Fatal(err)
	}
	machine, err := readmetest.NewMachine(t.Context(), t.TempDir(), ".", "https://github.com/stoker-ml/stoker")
	if err != nil {
		t.Fatal(err)
	}
	err = readmetest.Run(t.Context(), blocks, readmetest.Options{Dir: machine.Work, Env: machine.Env, Timeout: 10 * time.Minute, Log: t.Output()})
	if err != nil {
		t.Fatal("README.md: ", err)
	}
}
