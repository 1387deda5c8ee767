package main

import (
	"path/filepath"
	"testing"
)

func TestCommandsAreToldAsTheUserCanTypeThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		app  app
		want string
	}{
		"installed":          {app{self: "stoker", dataDir: defaultDataDir()}, "stoker runs"},
		"built here":         {app{self: "bin/stoker", dataDir: defaultDataDir()}, "bin/stoker runs"},
		"go run":             {app{self: "/tmp/go-build406/b001/exe/stoker", dataDir: defaultDataDir()}, "go run ./functions/stoker runs"},
		"go run, from cache": {app{self: "/home/x/.cache/go-build/ab/ab40-d/stoker", dataDir: defaultDataDir()}, "go run ./functions/stoker runs"},
		"another folder":     {app{self: "stoker", dataDir: filepath.Join("my data", "x")}, "stoker runs --data 'my data/x'"},
		"a quote":            {app{self: "stoker", dataDir: "it's"}, `stoker runs --data 'it'\''s'`},
	} {
		if got := tc.app.command("runs"); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
