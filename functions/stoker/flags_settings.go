package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// settingOf is the annotation of a command's own flag that names the setting which it is.
const settingOf = "stoker.dev/setting"

// setElsewhere makes a setting of a flag that is the command's own: where it is not given, the environment or the configuration file says what it
// is. Its default is the setting's.
func setElsewhere(cmd *cobra.Command, flag string, key settings.Key) {
	f := cmd.Flags().Lookup(flag)
	f.Annotations = map[string][]string{settingOf: {string(key)}}
	for _, s := range settings.All() {
		if s.Key == key {
			f.Usage += " (" + strings.Join(s.Env, ", ") + ")"
		}
	}
}

// setFlags gives flags that are settings what is said elsewhere.
func setFlags(cmd *cobra.Command, found *settings.Settings) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		key := f.Annotations[settingOf]
		if len(key) == 0 || f.Changed || err != nil {
			return
		}
		v := found.Value(settings.Key(key[0]))
		if v.From == "" || v.From == "default" {
			return
		}
		if bad := f.Value.Set(v.Text); bad != nil {
			err = exit.Usage(fmt.Errorf("%s (%s) is %q: expected what --%s takes, %s", v.Key, v.From, v.Text, f.Name, f.Value.Type()))
		}
	})
	return err
}
