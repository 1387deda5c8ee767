package stoker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/readmetest"
)

// tour lists the pages whose commands are typed one after another, by a new user on one machine.
var tour = []string{
	"README.md", "infra/docs/tutorial.md", "infra/docs/pipeline.md", "infra/docs/events.md", "infra/docs/modules.md", "infra/docs/builtin.md",
	"infra/docs/models.md", "infra/docs/search.md", "infra/docs/data.md", "infra/docs/recovery.md", "infra/docs/operating.md",
}

// TestTheReadmesCommandsDoWhatItSays runs the commands of the README and then those of the pages
// that continue it, as on a fresh machine, beginning with git clone. The package comment of
// infra/readmetest describes how a page marks commands that run in the background or are not run.
func TestTheReadmesCommandsDoWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the README's commands build the binary and train, for some minutes")
	}
	if deadline, ok := t.Deadline(); ok && time.Until(deadline) < 20*time.Minute {
		t.Skip("left out by go test's ten minutes, which a slow machine needs to compile alone: task readme and task test run it with -timeout 40m")
	}
	t.Parallel()
	var blocks []readmetest.Block
	for _, page := range tour {
		blocks = append(blocks, commands(t, page)...)
	}
	machine, err := readmetest.NewMachine(t.Context(), t.TempDir(), ".", "https://github.com/stoker-ml/stoker")
	if err != nil {
		t.Fatal(err)
	}
	err = readmetest.Run(t.Context(), blocks, readmetest.Options{Dir: machine.Work, Env: machine.Env, Timeout: 10 * time.Minute, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
}

// The README is one page; what it leaves out is in infra/docs.
func TestTheReadmeHasAtMost120Lines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > 120 {
		t.Errorf("%d lines: move something to infra/docs", lines)
	}
}

// TestEveryPagesCommandsAreRun fails if a page shows commands that neither the tour nor a test of
// infra/docs runs.
func TestEveryPagesCommandsAreRun(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("infra/docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	contributing, err := filepath.Glob("infra/docs/contributing/*.md")
	if err != nil || len(contributing) < 5 {
		t.Fatal(contributing, err)
	}
	pages = append(pages, contributing...)
	pages = append(pages, "CONTRIBUTING.md")
	run := append(slices.Clone(tour), "infra/docs/http.md")
	for _, page := range pages {
		for _, block := range commands(t, page) {
			if block.Skip == "" && !slices.Contains(run, page) {
				t.Errorf("%s:%d: these commands are not run: add the page to the tour", page, block.Line)
			}
		}
	}
}

func commands(t *testing.T, page string) []readmetest.Block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := readmetest.Parse(page, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}
