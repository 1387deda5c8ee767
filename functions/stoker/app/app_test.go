package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
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

func TestDurationsOfFlagsMayBeDaysAndWeeks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "1.5d": 36 * time.Hour, "2w": 14 * 24 * time.Hour, "0": 0,
		"": -1, "7": -1, "d": -1, "-1h": -1, "-7d": -1, "7 days": -1, "200000d": -1,
	} {
		flags, got := pflag.NewFlagSet("gc", pflag.ContinueOnError), time.Duration(0)
		DurationVar(flags, &got, "older-than", time.Hour, "age")
		err := flags.Parse([]string{"--older-than", text})
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	var none time.Duration
	flags := pflag.NewFlagSet("list", pflag.ContinueOnError)
	DurationVar(flags, &none, "since", 0, "only newer")
	if usage := flags.FlagUsages(); usage != "      --since duration   only newer\n" {
		t.Errorf("%q", usage)
	}
}
