package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/functions/spelling"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

const (
	maxPort  = 65535
	anyCount = math.MaxInt32
)

// within refuses a number that a flag can't have.
func within(flag string, value, low, high int) error {
	switch {
	case value >= low && value <= high:
		return nil
	case high == anyCount:
		return exit.Usage(fmt.Errorf("--%s %d: expected %d or more", flag, value, low))
	default:
		return exit.Usage(fmt.Errorf("--%s %d: expected %d to %d", flag, value, low, high))
	}
}

// checkCompute refuses settings of the environment that modules could not work with, before one of them is started.
func checkCompute() error {
	if err := errors.Join(kernel.CheckLevel(), tfrecord.CheckLimit()); err != nil {
		return exit.Usage(err)
	}
	return nil
}

// exactly checks the number of arguments, and says what they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s: expected %s, got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// together refuses flags of which some are given and some are not.
func together(cmd *cobra.Command, names ...string) error {
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

// atLeastOne wants an argument or more, and says what they are.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: expected %s, got 0 arguments", cmd.CommandPath(), what)
		}
		return nil
	}
}

// noArguments refuses arguments of a command that takes none. cobra would call each an unknown command, also where there are none.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return fmt.Errorf("%s: expected no arguments, got %q", cmd.CommandPath(), args[0])
}

// refusalsAreUsage makes wrong usage of whatever cobra refuses before a command begins: unknown commands, arguments and
// flags; and of settings that can't be used. refused says whether it was cobra, who says no next step.
func refusalsAreUsage(root *cobra.Command) (refused func() bool) {
	began := false
	configure := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		err := configure(cmd, args)
		if err != nil {
			began, err = true, exit.Usage(err)
		}
		return err
	}
	for _, cmd := range allCommands(root) {
		if cmd != root && cmd.HasSubCommands() && !cmd.Runnable() { // cobra shows its help for what it does not know, and calls that a success
			cmd.Args, cmd.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if do := cmd.RunE; do != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error { began = true; return do(cmd, args) }
		}
	}
	return func() bool { return !began }
}

// suggestion returns what an unknown command or flag may have been meant to be, for the end of the error that cobra refuses it with.
func suggestion(cmd *cobra.Command, refused error) string {
	var unknown string
	var known []string
	if _, err := fmt.Sscanf(refused.Error(), "unknown command %q", &unknown); err == nil {
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				known = append(known, child.Name())
			}
		}
		return spelling.Suggestion(unknown, known)
	}
	if _, err := fmt.Sscanf(refused.Error(), "unknown flag: --%s", &unknown); err != nil {
		return ""
	}
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return spelling.Suggestion(unknown, known)
}

func allCommands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, child := range root.Commands() {
		all = append(all, allCommands(child)...)
	}
	return all
}
