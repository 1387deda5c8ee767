package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/internal/filter"
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

// DurationVar defines a flag for a duration that may be one of days or weeks, as filters have them.
func DurationVar(flags *pflag.FlagSet, to *time.Duration, name string, usual time.Duration, usage string) {
	*to = usual
	flags.Var((*longDuration)(to), name, usage)
}

// longDuration is the value of such a flag.
type longDuration time.Duration

func (d *longDuration) Set(text string) error {
	v, ok := filter.ParseDuration(text)
	if !ok {
		return errors.New("expected a duration like 90s, 24h, 7d or 2w")
	}
	*d = longDuration(v)
	return nil
}

func (d *longDuration) Type() string { return "duration" }

// String returns "0" for none, which help texts leave out as a default.
func (d *longDuration) String() string {
	if *d == 0 {
		return "0"
	}
	return time.Duration(*d).String()
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
			return fmt.Errorf("%s: expected %s, got %s", cmd.CommandPath(), what, Got(args))
		}
		return nil
	}
}

// Got describes arguments of the wrong number: a missing quote or slash shows.
func Got(args []string) string {
	const most = 4
	switch n := len(args); {
	case n == 0 || n > most:
		return fmt.Sprintf("%d arguments", n)
	case n == 1:
		return fmt.Sprintf("1 argument: %q", args[0])
	default:
		quoted := make([]string, n)
		for i, arg := range args {
			quoted[i] = strconv.Quote(arg)
		}
		return fmt.Sprintf("%d arguments: %s", n, strings.Join(quoted, ", "))
	}
}

// Named requires one argument that names a thing of a run. The error for a pipeline and a run as
// two words shows the name PIPELINE/RUN.
func Named(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := Exactly(1, what)(cmd, args)
		if len(args) == 2 && events.CheckName("pipeline", args[0]) == nil {
			return fmt.Errorf("%w; did you mean %s?", err, JoinRun(args[0], args[1]))
		}
		return err
	}
}

// JoinRun returns the name PIPELINE/RUN for a run that a flag names, which may have that form
// already; "" names none.
func JoinRun(pipeline, run string) string {
	if run == "" || pipeline == "" || strings.HasPrefix(run, pipeline+"/") {
		return cmp.Or(run, pipeline)
	}
	return pipeline + "/" + run
}

// Cause returns the cause of an error of the file system without the path, for errors that name the
// file already.
func Cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// JSONError adds to a syntax error where it is.
func JSONError(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w at byte %d", err, syntax.Offset)
	}
	return err
}

// Address checks an address to listen on.
func Address(flag, address, or string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil && port != "" {
		return nil
	}
	like := "127.0.0.1:8790"
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		like = "127.0.0.1:" + address
	}
	return exit.Usage(fmt.Errorf("--%s %s: expected HOST:PORT, like %s%s", flag, address, like, or))
}

// InUse returns the error for an address that can't be listened on, which names the flag. hint says
// what to do.
func InUse(flag, address, hint string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = errors.New("another program uses this address")
	case errors.Is(err, syscall.EACCES):
		err = errors.New("permission denied: ports below 1024 are for root")
	}
	return exit.Usage(fmt.Errorf("--%s %s: %w: %s", flag, address, err, hint))
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
	var selecting []string
	for _, name := range []string{"pipeline", "run"} {
		if cmd.LocalFlags().Lookup(name) != nil {
			selecting = append(selecting, "--"+name)
		}
	}
	err := fmt.Errorf("%s: expected no arguments, got %q", cmd.CommandPath(), args[0])
	if len(selecting) == 0 {
		return err
	}
	return fmt.Errorf("%w; select with %s", err, strings.Join(selecting, " and "))
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
