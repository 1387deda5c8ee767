package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// testRoot returns the command tree of a program whose output is discarded.
func testRoot() *cobra.Command {
	return newRoot(&app.App{Self: "stoker", Stdout: terminal.NewStream(io.Discard), Stderr: terminal.NewStream(io.Discard)})
}

// Each command states the role that can run it, or that it needs none; and each role has a command.
func TestEachCommandHasItsRole(t *testing.T) {
	t.Parallel()
	has := map[access.Role]bool{}
	for _, cmd := range app.AllCommands(testRoot()) {
		info := app.InfoOf(cmd)
		if cmd.Runnable() && cmd.HasParent() && info.Role == "" {
			t.Errorf("%s: expected app.Info with a role in its Annotations", app.Path(cmd))
		}
		if _, err := access.ParseRole(string(info.Role)); err != nil && info.Role != "" && info.Role != app.AnyRole && info.Role != app.NoRole {
			t.Errorf("%s: %v", app.Path(cmd), err)
		}
		has[info.Role] = true
	}
	for _, role := range access.Roles() {
		if !has[role] {
			t.Errorf("no command is run by role %s", role)
		}
	}
}

func TestTheHelpOfACommandHasItsOutput(t *testing.T) {
	t.Parallel()
	shows := map[string]string{
		"dead show": "Output of -o json and -o yaml: an object.\n  always         number stored dead_letter\n  if applicable  pipeline run",
		"gc":        "an object (with --dry-run).\n  always         dry_run removed objects bytes",
	}
	for _, cmd := range app.AllCommands(testRoot()) {
		want, known := shows[app.Path(cmd)]
		if delete(shows, app.Path(cmd)); known && !strings.HasSuffix(cmd.Long, want) {
			t.Errorf("%s: help ends with\n%s\nwant\n%s", app.Path(cmd), cmd.Long, want)
		}
	}
	if len(shows) > 0 {
		t.Errorf("no command %v", shows)
	}
}

// Every command is in a group of the help, and shows an example.
func TestEachCommandHasAGroupAndAnExample(t *testing.T) {
	t.Parallel()
	root := testRoot()
	root.InitDefaultHelpCmd()
	help := root.UsageString()
	for _, cmd := range app.AllCommands(root) {
		own := cmd.Name() == "help" || cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion"
		switch {
		case !cmd.HasParent() || !cmd.IsAvailableCommand() || own:
			continue
		case cmd.Parent() == root && !strings.Contains(help, "\n  "+cmd.Name()+" "):
			t.Errorf("%s: is in no group of the help", app.Path(cmd))
		case !strings.Contains(cmd.Example, "stoker "+app.Path(cmd)) && !cmd.HasAvailableSubCommands():
			t.Errorf("%s: expected an Example with it", app.Path(cmd))
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  ") || strings.TrimSpace(line) == "" {
				t.Errorf("%s: expected Examples that are indented by two blanks: %q", app.Path(cmd), line)
			}
		}
	}
}

// The help of a command has three flags of all commands. The others are on a page of their own.
func TestTheHelpOfACommandHasFewFlagsOfAllCommands(t *testing.T) {
	t.Parallel()
	root := testRoot()
	topic, _, err := root.Find([]string{"connection"})
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := root.Find([]string{"runs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*cobra.Command{root, runs} {
		text := cmd.UsageString()
		if strings.Count(text, "\n  -o, --output")+strings.Count(text, "\n  -q, --quiet")+strings.Count(text, "\n  -v, --verbose") != 3 ||
			strings.Contains(text, "--nats") || !strings.Contains(text, "`stoker help connection` shows") {
			t.Errorf("%s", text)
		}
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if in := strings.Contains(topic.Long, "--"+f.Name+" "); in == slices.Contains([]string{"output", "quiet", "verbose"}, f.Name) {
			t.Errorf("--%s: on the page of connections: %t", f.Name, in)
		}
	})
}

// Summaries are a verb and its object, short enough for one line of a list of commands.
func TestSummariesAreShort(t *testing.T) {
	t.Parallel()
	const most = 60
	for _, cmd := range app.AllCommands(testRoot()) {
		if len(cmd.Short) > most || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: expected at most %d characters without a full stop, got %q", app.Path(cmd), most, cmd.Short)
		}
	}
}

// Shells complete the flags that name pipelines and runs, in every command that has them.
func TestNamesAreCompletedForEachFlag(t *testing.T) {
	t.Parallel()
	for _, cmd := range app.AllCommands(testRoot()) {
		for _, flag := range []string{"pipeline", "run", "kind", "output", "context", "log-level", "python-warm"} {
			if cmd.Flag(flag) == nil {
				continue
			}
			if _, ok := cmd.GetFlagCompletionFunc(flag); !ok {
				t.Errorf("%s --%s: no completion; define it with a.AddPipelineFlag or a.AddRunFlag, or name its words with app.CompleteFlag", app.Path(cmd), flag)
			}
		}
	}
}
