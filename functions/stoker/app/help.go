package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of commands in the help, as a command's GroupID.
const (
	Start   = "start"   // try it out, train and serve on one machine
	Look    = "look"    // see what there is, and what happens
	Act     = "act"     // deploy, publish, repeat, stop
	Operate = "operate" // run the parts in production
)

var groups = []*cobra.Group{
	{ID: Start, Title: "Start:"},
	{ID: Look, Title: "Look:"},
	{ID: Act, Title: "Act:"},
	{ID: Operate, Title: "Operate:"},
}

// connection is the help topic with the flags that every command has, but that few users set there.
const connection = "connection"

// everywhere are the flags of all commands that the help of each shows.
var everywhere = []string{"output", "quiet", "verbose"}

// AddHelp arranges the help of root, which has all commands and flags: commands in groups, and the
// flags of connections and of the log under a topic of their own instead of below each command.
func AddHelp(root *cobra.Command) {
	root.AddGroup(groups...)
	root.SetHelpCommandGroupID(Operate)
	root.SetCompletionCommandGroupID(Operate)
	root.AddCommand(&cobra.Command{
		Use:         connection,
		Annotations: Info{Role: NoRole}.Annotations(),
		Short:       "Flags of every command: bus, store, log, configuration file",
		Long: "These flags work with every command. Most users set them once, in the configuration file or in the environment:\n" +
			"`stoker config` shows each setting and its source.\n\n" + strings.TrimRight(globalFlags(root, false).FlagUsages(), "\n"),
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd))
		return err
	})
}

// globalFlags returns the flags of all commands: those that each help shows, or the others.
func globalFlags(cmd *cobra.Command, shown bool) *pflag.FlagSet {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(everywhere, f.Name) == shown {
			some.AddFlag(f)
		}
	})
	return some
}

// ownFlags returns the flags of a command alone, with --help.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if cmd.Root().PersistentFlags().Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	return own
}

// usageText is the part of the help after the description.
func usageText(cmd *cobra.Command) string {
	var text strings.Builder
	section := func(title, body string) {
		if body = strings.TrimRight(body, "\n"); body != "" {
			fmt.Fprintf(&text, "\n%s\n%s\n", title, body)
		}
	}
	text.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&text, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s [command]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		section("Aliases:", "  "+cmd.NameAndAliases())
	}
	section("Examples:", cmd.Example)
	if len(cmd.Groups()) == 0 {
		section("Commands:", commandLines(cmd, ""))
	}
	for _, group := range cmd.Groups() {
		section(group.Title, commandLines(cmd, group.ID))
	}
	section("Flags:", ownFlags(cmd).FlagUsages())
	section("Flags of every command:", globalFlags(cmd, true).FlagUsages())
	fmt.Fprintf(&text, "\n`%s help %s` shows the flags for bus, store and log.\n", cmd.Root().Name(), connection)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "`%s COMMAND --help` describes a command.\n", cmd.CommandPath())
	}
	return text.String()
}

func commandLines(cmd *cobra.Command, group string) string {
	var lines strings.Builder
	for _, child := range cmd.Commands() {
		if child.GroupID == group && (child.IsAvailableCommand() || child.Name() == "help") {
			fmt.Fprintf(&lines, "  %-*s %s\n", child.NamePadding(), child.Name(), child.Short)
		}
	}
	return lines.String()
}
