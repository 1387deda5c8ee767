package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
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
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
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

// newHelp returns the command for the help of others, which refuses unknown words.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND]",
		Annotations: Info{Role: NoRole}.Annotations(),
		Short:       "Help about any command",
		Example:     "  stoker help runs show",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, _, err := cmd.Root().Find(args); err == nil {
				for _, child := range of.Commands() {
					if child.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(child.Name(), child.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest := cmd.Root(), args
			for len(rest) > 0 {
				i := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == rest[0] || c.HasAlias(rest[0]) })
				if i < 0 {
					err := fmt.Errorf("unknown command %q for %q", rest[0], of.CommandPath())
					return exit.Usage(fmt.Errorf("%w%s; see `%s --help`", err, Suggestion(of, err), of.CommandPath()))
				}
				of, rest = of.Commands()[i], rest[1:]
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
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

// AddAliases adds short forms that users of other tools type: the singular of a group that lists
// things unless it is a command itself, ls for list, get for show.
func AddAliases(root *cobra.Command) {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	for _, cmd := range AllCommands(root) {
		switch cmd.Name() {
		case "list":
			cmd.Aliases = append(cmd.Aliases, "ls")
			group := cmd.Parent()
			one, many := strings.CutSuffix(group.Name(), "s")
			if stem, ok := strings.CutSuffix(group.Name(), "ies"); ok {
				one = stem + "y"
			}
			if many && !slices.Contains(names, one) {
				group.Aliases = append(group.Aliases, one)
			}
		case "show":
			cmd.Aliases = append(cmd.Aliases, "get")
		}
	}
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
