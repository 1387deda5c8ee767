package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/access"
)

// AnyRole is that of commands that ask what each role may, or as little.
const AnyRole access.Role = "any"

// Roles says by which role's key each command that connects to something is run: the least that can. An operator may run them all but
// what stays running; commands that are not here need no key.
func Roles() map[string]access.Role {
	of := map[string]access.Role{
		"worker": access.Worker, "dispatch": access.Dispatcher, "bridge": access.Bridge, "console": access.Console,
		"notify": access.Notifier, "lineage export": access.Exporter,
		"upload": access.Upstream, "publish": access.Upstream,
		"doctor": AnyRole,
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

// WhoMay adds to what the bus does not permit by which role's key the command is run.
func WhoMay(cmd *cobra.Command, err error) error {
	role := Roles()[strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")]
	if flag := cmd.Flags().Lookup("http"); role == access.Bridge && flag != nil && flag.Changed {
		role = access.Upstream // which publishes, and reads no bucket
	}
	if role == "" || role == AnyRole || !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), "not permitted to ") {
		return err
	}
	return fmt.Errorf("%w: the key of role %s may: `stoker config` shows whose is used, `stoker access nats %s` prints what the server is to allow", err, role, role)
}
