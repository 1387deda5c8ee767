package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// A flag that is a setting has the default that `stoker config` shows, and each setting of workers
// and of the console is the flag of a command.
func TestFlagsThatAreSettingsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	standard, flagged := map[string]string{}, map[string]bool{}
	for _, s := range settings.All() {
		standard[string(s.Key)] = s.Default
	}
	for _, cmd := range app.AllCommands(newRoot(&app.App{Stdout: terminal.NewStream(io.Discard), Stderr: terminal.NewStream(io.Discard)})) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if len(f.Annotations[app.SettingOf]) == 0 {
				return
			}
			key := f.Annotations[app.SettingOf][0]
			flagged[key] = true
			if got := strings.Trim(f.DefValue, "[]"); got != standard[key] {
				t.Errorf("%s --%s is %q by itself, and %s %q", cmd.Name(), f.Name, got, key, standard[key])
			}
		})
	}
	for key := range standard {
		if group, _, _ := strings.Cut(key, "."); (group == "worker" || group == "console") && !flagged[key] {
			t.Errorf("%s: no flag is that setting", key)
		}
	}
}
