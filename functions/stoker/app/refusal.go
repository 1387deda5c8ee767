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
		_, group, _ := strings.Cut(cmd.CommandPath()+" ", " ")
		if meant := otherWords[group+unknown]; meant != "" {
			return "; did you mean `stoker " + meant + "`?"
		}
		if cmd.HasParent() && cmd.LocalFlags().Lookup(unknown) != nil {
			return "; did you mean --" + unknown + "?"
		}
		if cmd.Name() == "completion" {
			return "; expected bash, fish, powershell or zsh"
		}
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				known = append(known, child.Name())
			}
		}
		return spelling.Suggestion(unknown, known)
	}
	if letter := shorthand.FindStringSubmatch(refused.Error()); letter != nil {
		return shorthandMeant(cmd, letter[1])
	}
	if _, err := fmt.Sscanf(refused.Error(), "unknown flag: --%s", &unknown); err != nil {
		return ""
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	if near := spelling.Suggestion("--"+unknown, known); near != "" {
		return near
	}
	known = nil
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	if near := spelling.Nearest("--"+unknown, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// otherWords are commands of other tools, below a group of commands if need be, with the one that
// does it here.
var otherWords = map[string]string{
	"start": "up", "serve": "up", "server": "up", "init": "demo", "train": "try", "tune": "try --tune",
	"status": "runs", "ps": "runs", "ls": "runs", "list": "runs", "get": "runs", "show": "runs show", "describe": "runs show",
	"deploy": "apply", "create": "apply", "submit": "publish", "emit": "publish", "send": "publish",
	"rerun": "runs rerun", "retry": "dead retry", "stop": "cancel", "kill": "cancel", "delete": "pipelines remove",
	"remove": "pipelines remove", "rm": "pipelines remove", "download": "models pull", "pull": "models pull", "push": "upload",
	"setup": "python setup", "check": "doctor", "events": "watch", "tail": "logs", "ui": "console", "dashboard": "console",
	"infer": "schema infer", "best": "studies best", "diff": "apply --dry-run", "wait": "runs show --wait",
	"runs cancel": "cancel", "runs stop": "cancel", "runs logs": "logs", "runs retry": "dead retry",
	"pipelines apply": "apply", "pipelines diff": "apply --dry-run", "pipelines delete": "pipelines remove",
	"pipelines pause": "pause", "pipelines resume": "resume",
	"models download": "models pull", "dead delete": "dead drop", "studies cancel": "studies stop",
}

// otherLetters are flags of one letter of other tools, with those that do it here.
var otherLetters = map[string][]string{"n": {"tail", "limit"}, "f": {"follow", "watch"}, "w": {"watch", "wait"}}

// shorthand matches the error of a flag of one letter that a command lacks.
var shorthand = regexp.MustCompile(`^unknown shorthand flag: '(.)'`)

// shorthandMeant returns a hint for a flag of one letter that the command lacks: the flag that
// begins with the letter, the one that other tools write so, or the argument FILE that they give as
// -f.
func shorthandMeant(cmd *cobra.Command, letter string) string {
	if _, arguments, _ := strings.Cut(cmd.Use, " "); letter == "f" && strings.HasPrefix(arguments, "FILE") {
		return "; the file is an argument: `" + cmd.CommandPath() + " FILE`"
	}
	var meant []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, letter) && !f.Hidden {
			meant = append(meant, "--"+f.Name)
		}
	})
	for _, name := range otherLetters[letter] {
		if len(meant) != 1 && cmd.LocalFlags().Lookup(name) != nil {
			meant = []string{"--" + name}
		}
	}
	if len(meant) != 1 {
		return ""
	}
	return "; did you mean " + meant[0] + "?"
}

// inPlainWords has replacements for errors of Go's parsers, which don't say what is expected.
var inPlainWords = []struct {
	found *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`time: (?:unknown unit|missing unit|invalid duration) .*`), "expected a duration like 90s, 15m or 24h"},
	{regexp.MustCompile(`strconv\.Parse(?:Int|Uint): parsing .*`), "expected a whole number"},
	{regexp.MustCompile(`strconv\.ParseFloat: parsing .*`), "expected a number"},
	{regexp.MustCompile(`strconv\.ParseBool: parsing .*`), "expected true or false"},
}

// required matches cobra's error for flags that must be given.
var required = regexp.MustCompile(`^required flag\(s\) (.+) not set$`)

// Plain returns the error of cobra in words for users.
func Plain(refused error) string {
	text := strings.Join(strings.Fields(refused.Error()), " ")
	if flags := required.FindStringSubmatch(text); flags != nil {
		return "missing " + strings.NewReplacer(`", "`, " and --", `"`, "").Replace(strings.Replace(flags[1], `"`, "--", 1))
	}
	for _, words := range inPlainWords {
		text = words.found.ReplaceAllString(text, words.plain)
	}
	return text
}

// AllCommands returns a command and all commands below it.
func AllCommands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, child := range root.Commands() {
		all = append(all, AllCommands(child)...)
	}
	return all
}
