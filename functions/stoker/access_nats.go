package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/access"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// accessFlags narrow roles on the bus.
type accessFlags struct {
	tenant                    string
	pipelines, kinds, classes []string
	names                     []string
	inbox                     string
}

func newAccessNATS(app *app) *cobra.Command {
	var f accessFlags
	cmd := &cobra.Command{
		Use:   "nats ROLE[=KEY]...",
		Short: "Print an account of nats-server's configuration, with a user for each role",
		Long: "Prints an account for nats-server's configuration: a tenant, with streams of its own, and a user for each role given. KEY is\n" +
			"the user's public nkey; without one, the server's environment variable <TENANT>_<ROLE>_NKEY is to have it. With -o json\n" +
			"the permissions alone, as users' JWTs have them.\n\n" +
			"Each role listens for answers below a prefix of its own, _INBOX.<role>, which its programs are told by NATS_INBOX_PREFIX,\n" +
			"--nats-inbox or a context's inbox_prefix.",
		Example: `  stoker access key worker.nk
  stoker access nats --tenant acme worker=UB2LZ... upstream=UAXQR... --pipeline penguin`,
		Args: atLeastOne("a role"),
		RunE: func(_ *cobra.Command, args []string) error {
			account := access.Account{Name: f.tenant}
			for _, arg := range args {
				user, err := f.user(arg)
				if err != nil {
					return exit.Usage(err)
				}
				account.Users = append(account.Users, user)
			}
			return app.printAccount(account)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tenant, "tenant", "stoker", "name of the account")
	flags.StringSliceVar(&f.pipelines, "pipeline", nil, "of upstream: pipelines whose facts it tells")
	flags.StringSliceVar(&f.kinds, "kind", nil, "of upstream: kinds of its facts (default examples.ready,transform.ready)")
	flags.StringSliceVar(&f.classes, "class", nil, "of worker: resource classes whose jobs it takes (default any)")
	flags.StringSliceVar(&f.names, "name", nil, "of notifier or exporter: the --name of its command (default that command's)")
	flags.StringVar(&f.inbox, "inbox", "", "prefix of inboxes, of a single role (default _INBOX.<role>)")
	return cmd
}

// user reads ROLE[=KEY].
func (f accessFlags) user(arg string) (access.User, error) {
	name, key, given := strings.Cut(arg, "=")
	role, err := access.ParseRole(name)
	if err != nil {
		return access.User{}, err
	}
	if !given {
		key = "$" + strings.ToUpper(strings.ReplaceAll(f.tenant+"_"+name, "-", "_")) + "_NKEY"
	}
	scope := access.Scope{Inbox: f.inbox}
	switch role {
	case access.Upstream:
		scope.Pipelines = f.pipelines
		for _, kind := range f.kinds {
			scope.Kinds = append(scope.Kinds, events.Kind(kind))
		}
	case access.Worker:
		scope.Classes = f.classes
	case access.Notifier, access.Exporter:
		scope.Names = f.names
	}
	return access.User{Role: role, Scope: scope, Key: key}, nil
}

func (a *app) printAccount(account access.Account) error {
	if a.output == terminal.Table {
		return asUsage(access.WriteAccounts(a.stdout.Data("conf"), account))
	}
	permissions := map[access.Role]access.Permissions{}
	for _, user := range account.Users {
		allowed, err := user.Role.Bus(user.Scope)
		if err != nil {
			return exit.Usage(err)
		}
		permissions[user.Role] = allowed
	}
	return a.print(permissions, nil)
}

// asUsage: whatever is wrong here was given.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return exit.Usage(err)
}
