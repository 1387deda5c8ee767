package app

import (
	"path/filepath"
	"testing"
)

func TestCommandsAreNamedAsTheUserCanTypeThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		app  App
		want string
	}{
		"installed":          {App{Self: "stoker", DataDir: DefaultDataDir()}, "stoker runs"},
		"built here":         {App{Self: "bin/stoker", DataDir: DefaultDataDir()}, "bin/stoker runs"},
		"go run":             {App{Self: "/tmp/go-build406/b001/exe/stoker", DataDir: DefaultDataDir()}, "go run ./functions/stoker runs"},
		"go run, from cache": {App{Self: "/home/x/.cache/go-build/ab/ab40-d/stoker", DataDir: DefaultDataDir()}, "go run ./functions/stoker runs"},
		"another folder":     {App{Self: "stoker", DataDir: filepath.Join("my data", "x")}, "stoker runs --data 'my data/x'"},
		"a quote":            {App{Self: "stoker", DataDir: "it's"}, `stoker runs --data 'it'\''s'`},
	} {
		if got := tc.app.Command("runs"); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
