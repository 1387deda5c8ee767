package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan is for who makes packages, and hidden from all others.
func newMan(app *app) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write a man page for each command",
		Long:   "Writes stoker.1, stoker-runs.1 and so on. SOURCE_DATE_EPOCH is their date, so that the same program gives the same pages.",
		Hidden: true,
		Args:   exactly(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			header := doc.GenManHeader{Title: "STOKER", Section: "1", Source: "stoker " + version, Manual: "Stoker"}
			cmd.Root().DisableAutoGenTag = true
			if err := doc.GenManTree(cmd.Root(), &header, args[0]); err != nil {
				return err
			}
			return app.print(map[string]string{"folder": args[0]}, func(w io.Writer) { fmt.Fprintln(w, args[0]) })
		},
	}
}
