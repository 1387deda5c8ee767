package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/access"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// needNoKey are the commands that ask nobody, or a stack of their own.
func needNoKey() []string {
	return []string{
		"up", "demo", "try", "config", "config show", "version", "man", "module", "schema", "table", "from-tfx", "access key", "access nats", "access s3", "access roles",
		"python", "python setup", "python list", "python check", "python remove", "python prune",
		"completion bash", "completion zsh", "completion fish", "completion powershell",
	}
}

// Each command has the role by which it is run, or needs none; and each role has a command.
func TestEachCommandHasItsRole(t *testing.T) {
	t.Parallel()
	of, there := app.Roles(), map[string]bool{}
	root := newRoot(&app.App{Self: "stoker", Stdout: terminal.NewStream(io.Discard), Stderr: terminal.NewStream(io.Discard)})
	walkCommands(root, func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "stoker ")
		there[path] = true
		if _, has := of[path]; has == slices.Contains(needNoKey(), path) {
			t.Errorf("%s: expected a role, or that it needs no key, and not both", path)
		}
	})
	has := map[access.Role]bool{app.AnyRole: true}
	for path, role := range of {
		if has[role] = true; !there[path] {
			t.Errorf("%s is no command", path)
		}
		if _, err := access.ParseRole(string(role)); err != nil && role != app.AnyRole {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, role := range access.Roles() {
		if !has[role] {
			t.Errorf("no command is run by role %s", role)
		}
	}
}

// walkCommands visits what can be run.
func walkCommands(cmd *cobra.Command, do func(*cobra.Command)) {
	if cmd.Runnable() && cmd.HasParent() && cmd.Name() != "help" {
		do(cmd)
	}
	for _, below := range cmd.Commands() {
		walkCommands(below, do)
	}
}
