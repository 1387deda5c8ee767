package admin

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// newMan is for packagers, and hidden.
func newMan(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "man FOLDER",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Write a man page for each command",
		Long:        "Writes stoker.1, stoker-runs.1 and so on. SOURCE_DATE_EPOCH sets their date, for reproducible builds.",
		Hidden:      true,
		Args:        app.Exactly(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			date := time.Now()
			if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
				date = time.Unix(seconds, 0)
			}
			if err := writeManPages(args[0], cmd.Root(), date.UTC().Format("2006-01-02")); err != nil {
				return err
			}
			return a.Print(map[string]string{"folder": args[0]}, func(w io.Writer) { fmt.Fprintln(w, args[0]) })
		},
	}
}

// writeManPages writes the page of a command and those of its subcommands.
func writeManPages(dir string, cmd *cobra.Command, date string) error {
	page := filepath.Join(dir, manName(cmd)+".1")
	if err := os.WriteFile(page, []byte(manPage(cmd, date)), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if err := writeManPages(dir, sub, date); err != nil {
				return err
			}
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage converts a command's help to man's macros: man(7).
func manPage(cmd *cobra.Command, date string) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	fmt.Fprintf(&b, ".TH %q 1 %q %q Stoker\n", strings.ToUpper(manName(cmd)), date, "stoker "+cmd.Root().Version)
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", manText(manName(cmd)), manText(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, "\\fB%s\\fR\n", manText(cmd.UseLine()))
	section("DESCRIPTION")
	manLines(&b, cmp.Or(cmd.Long, cmd.Short))
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS INHERITED FROM PARENT COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		section("EXAMPLES")
		manLines(&b, cmd.Example)
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, manName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, manName(sub))
		}
	}
	if len(others) > 0 {
		section("SEE ALSO")
		fmt.Fprintf(&b, "\\fB%s\\fR(1)\n", manText(strings.Join(others, "(1), ")))
	}
	return b.String()
}

// manFlags leaves out the default values of flags: some depend on the machine that writes the page.
func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(flag)
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", manText(name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", manText(kind))
		}
		fmt.Fprintf(b, "\n%s\n", manText(usage))
	})
}

// manLines writes paragraphs, and indented text unchanged.
func manLines(b *strings.Builder, text string) {
	literal := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		if indented := strings.HasPrefix(line, " "); indented != literal && line != "" {
			fmt.Fprintln(b, map[bool]string{true: ".EX", false: ".EE"}[indented])
			literal = indented
		}
		if line == "" && !literal {
			line = ".PP"
		} else {
			line = manText(line)
		}
		fmt.Fprintln(b, line)
	}
	if literal {
		fmt.Fprintln(b, ".EE")
	}
}

// manText escapes characters that are special in roff.
func manText(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
