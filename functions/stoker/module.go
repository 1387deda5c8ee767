package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// newModule is the child process in which a compiled-in module runs. functions/guest starts it; people use `stoker try`.
func newModule(*app) *cobra.Command {
	return &cobra.Command{
		Use:    "module",
		Short:  "Serve compiled-in modules on standard input",
		Hidden: true,
		Args:   noArguments,
		// It has no settings: a configuration file is none of a module's business.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		Run: func(cmd *cobra.Command, _ []string) {
			os.Exit(module.Process(cmd.Context(), builtin.Module()))
		},
	}
}

// builtins are the compiled-in modules and the constants that stand for their code.
func builtins() map[string]string { return builtin.Digests() }
