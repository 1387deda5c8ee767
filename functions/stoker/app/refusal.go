package app

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// RefusalsAreUsage turns every error of cobra before a command begins into one of usage: unknown
// commands, arguments and flags; and errors of unusable settings. refused reports whether it was
// cobra, whose errors give no next step.
func RefusalsAreUsage(root *cobra.Command) (refused func() bool) {
	began := false
	configure := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		err := configure(cmd, args)
		if err != nil {
			began, err = true, exit.Usage(err)
		}
		return err
	}
	for _, cmd := range AllCommands(root) {
		// cobra prints its help for unknown words, and reports success
		if cmd != root && cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.Args, cmd.RunE = NoArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if do := cmd.RunE; do != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error { began = true; return do(cmd, args) }
		}
	}
	return func() bool { return !began }
}

// Suggestion returns the command or flag that was probably meant by an unknown one, for the end of
// the error of cobra.
func Suggestion(cmd *cobra.Command, refused error) string {
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
			known = append(known, "--"+f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return spelling.Suggestion("--"+unknown, known)
}

// inPlainWords finds the errors of Go's parser of durations, which don't say what a duration is.
var inPlainWords = regexp.MustCompile(`time: (?:unknown unit|missing unit|invalid duration) .*`)

// Plain returns the error of cobra in words for users.
func Plain(refused error) string {
	text := strings.Join(strings.Fields(refused.Error()), " ")
	return inPlainWords.ReplaceAllString(text, "expected a duration like 90s, 15m or 24h")
}

func AllCommands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, child := range root.Commands() {
		all = append(all, AllCommands(child)...)
	}
	return all
}
