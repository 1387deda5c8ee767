package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/access"
)

func newAccess(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Make what servers need to know of who may do what",
		Long: "Prints the permissions of each role, for the bus and for the store. It connects to nothing, and changes nothing.\n\n" +
			"The roles: upstream (tells the facts of its pipelines, uploads what they name), dispatcher, worker, bridge, console (sees\n" +
			"all, changes nothing; runs, logs, watch, lineage and the like need no more), notifier (notify), exporter (lineage export) and\n" +
			"operator (makes the streams, deploys, retries, cancels).",
	}
	cmd.AddCommand(newAccessKey(app), newAccessNATS(app), newAccessS3(app), newAccessRoles(app))
	return cmd
}

// madeKey is what access key reports. The seed stays in its file.
type madeKey struct {
	Public string `json:"public"`
	File   string `json:"file"`
}

func newAccessKey(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make an nkey: the seed goes into a new file, the public key is printed",
		Long: "Makes an nkey for one user of the bus. The file is for that user alone, who names it by NATS_NKEY or --nats-nkey; the public\n" +
			"key is for the server, see `stoker access nats`.",
		Args: exactly(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := access.NewKey(args[0])
			if err != nil {
				return err
			}
			return app.print(madeKey{public, args[0]}, func(w io.Writer) { fmt.Fprintln(w, public) })
		},
	}
}
