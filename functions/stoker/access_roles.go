package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/access"
)

// anyRole is that of commands that ask what each role may, or as little.
const anyRole access.Role = "any"

// roles says by which role's key each command that connects to something is run: the least that can. An operator may run them all but
// what stays running; commands that are not here need no key.
func roles() map[string]access.Role {
	of := map[string]access.Role{
		"worker": access.Worker, "dispatch": access.Dispatcher, "bridge": access.Bridge, "console": access.Console,
		"notify": access.Notifier, "lineage export": access.Exporter,
		"upload": access.Upstream, "publish": access.Upstream,
		"doctor": anyRole,
	}
	for _, looks := range []string{
		"runs", "runs show", "models", "models pull", "studies", "studies list", "studies show", "studies best", "studies export", "logs", "watch", "lineage",
		"dead", "dead list", "dead show", "inspect", "pipelines", "pipelines list", "pipelines show", "schema infer",
	} {
		of[looks] = access.Console
	}
	for _, changes := range []string{
		"streams apply", "apply", "cancel", "pause", "resume", "dead retry", "dead drop", "replay", "reproduce", "gc", "studies stop", "runs rerun", "pipelines remove",
	} {
		of[changes] = access.Operator
	}
	return of
}

// whoMay adds to what the bus does not permit by which role's key the command is run.
func whoMay(cmd *cobra.Command, err error) error {
	role := roles()[strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")]
	if flag := cmd.Flags().Lookup("http"); role == access.Bridge && flag != nil && flag.Changed {
		role = access.Upstream // which publishes, and reads no bucket
	}
	if role == "" || role == anyRole || !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), "not permitted to ") {
		return err
	}
	return fmt.Errorf("%w: the key of role %s may: `stoker config` shows whose is used, `stoker access nats %s` prints what the server is to allow", err, role, role)
}

// commandRole is a line of `stoker access roles`.
type commandRole struct {
	Command string      `json:"command"`
	Role    access.Role `json:"role"`
}

func newAccessRoles(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "roles",
		Short: "List which command is run by which role",
		Long:  "Lists the commands that ask the bus or the store for something, and the role whose key is enough for each.",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			var all []commandRole
			for _, command := range slices.Sorted(maps.Keys(roles())) {
				all = append(all, commandRole{command, roles()[command]})
			}
			return app.print(all, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "COMMAND\tROLE")
				for _, line := range all {
					fmt.Fprintf(table, "%s\t%s\n", line.Command, line.Role)
				}
				_ = table.Flush()
			})
		},
	}
}
