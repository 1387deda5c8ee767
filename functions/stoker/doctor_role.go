package main

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/access"
	"github.com/stoker-ml/stoker/functions/doctor"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// roleFlags say as whom the bus is asked.
type roleFlags struct {
	role                      string
	pipelines, classes, names []string
}

func (f *roleFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.role, "role", "", "look at whether who asks may do what this role does; default: that of the prefix of inboxes")
	flags.StringSliceVar(&f.pipelines, "pipeline", nil, "of role upstream: pipelines whose facts it tells")
	flags.StringSliceVar(&f.classes, "class", nil, "of role worker: resource classes whose jobs it takes (default any)")
	flags.StringSliceVar(&f.names, "name", nil, "of role notifier or exporter: the --name of its command (default that command's)")
}

// checkRole is nothing where no role is meant.
func (a *app) checkRole(f roleFlags) ([]doctor.Check, error) {
	at, err := a.target()
	if err != nil {
		return nil, nil // what is wrong with the bus is told by its own check
	}
	scope := access.Scope{Pipelines: f.pipelines, Classes: f.classes, Names: f.names, Inbox: at.Bus.InboxPrefix}
	role, err := access.ParseRole(f.role)
	if err != nil && f.role != "" {
		return nil, exit.Usage(err)
	}
	if f.role == "" {
		name, ours := strings.CutPrefix(at.Bus.InboxPrefix, "_INBOX.")
		if role, err = access.ParseRole(name); !ours || err != nil {
			return nil, nil
		}
	}
	if _, err := role.Needs(scope); err != nil && f.role != "" {
		return nil, exit.Usage(err)
	}
	return []doctor.Check{doctor.Role(role, scope, func(ctx context.Context, asked jetstream.Permits) (jetstream.Permits, error) {
		return jetstream.Refused(ctx, at.Bus.URL, at.BusOptions(a.logger()), asked)
	})}, nil
}
