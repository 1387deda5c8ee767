package app

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

const (
	MaxPort  = 65535
	AnyCount = math.MaxInt32
)

// Within returns an error for a number outside of the range of a flag.
func Within(flag string, value, low, high int) error {
	switch {
	case value >= low && value <= high:
		return nil
	case high == AnyCount:
		return exit.Usage(fmt.Errorf("--%s %d: expected %d or more", flag, value, low))
	default:
		return exit.Usage(fmt.Errorf("--%s %d: expected %d to %d", flag, value, low, high))
	}
}

// CheckCompute returns an error for settings of the environment with which modules could not work,
// before one is started.
func CheckCompute() error {
	if err := errors.Join(kernel.CheckISA(), tfrecord.CheckLimit()); err != nil {
		return exit.Usage(err)
	}
	return nil
}

// Exactly checks the number of arguments; the error names them.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s: expected %s, got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// Together returns an error if only some of the flags are given.
func Together(cmd *cobra.Command, names ...string) error {
	var missing []string
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 || len(missing) == len(names) {
		return nil
	}
	last := len(names) - 1
	return exit.Usage(fmt.Errorf("--%s and --%s go together; missing %s",
		strings.Join(names[:last], ", --"), names[last], strings.Join(missing, ", ")))
}

// AtLeastOne requires one or more arguments; the error names them.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: expected %s, got 0 arguments", cmd.CommandPath(), what)
		}
		return nil
	}
}

// NoArguments returns an error for arguments of a command without any. cobra would call each an
// unknown command, even if there are no subcommands.
func NoArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return fmt.Errorf("%s: expected no arguments, got %q", cmd.CommandPath(), args[0])
}

// CheckTimeout returns an error for a --timeout of zero, or without waiting.
func CheckTimeout(wait bool, timeout time.Duration) error {
	switch {
	case timeout < 0:
		return exit.Usage(fmt.Errorf("--timeout %s: expected more than 0s", timeout))
	case timeout > 0 && !wait:
		return exit.Usage(errors.New("--timeout goes with --wait"))
	}
	return nil
}

// SettingOf is the annotation of a command's own flag with the setting that it sets.
const SettingOf = "stoker.dev/setting"

// SetElsewhere makes a command's own flag a setting: if it is not given, the environment or the
// configuration file sets it. Its default is the setting's.
func SetElsewhere(cmd *cobra.Command, flag string, key settings.Key) {
	f := cmd.Flags().Lookup(flag)
	f.Annotations = map[string][]string{SettingOf: {string(key)}}
	for _, s := range settings.All() {
		if s.Key == key {
			f.Usage += " (" + strings.Join(s.Env, ", ") + ")"
		}
	}
}

// SetFlags sets flags that are settings from the other sources.
func SetFlags(cmd *cobra.Command, found *settings.Settings) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		key := f.Annotations[SettingOf]
		if len(key) == 0 || f.Changed || err != nil {
			return
		}
		v := found.Value(settings.Key(key[0]))
		if v.From == "" || v.From == "default" {
			return
		}
		if bad := f.Value.Set(v.Text); bad != nil {
			err = exit.Usage(fmt.Errorf("%s (%s) is %q: expected a value of --%s: %s", v.Key, v.From, v.Text, f.Name, f.Value.Type()))
		}
	})
	return err
}
