package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/access"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// accessFlags narrow users on the bus. Values are [USER=]VALUE.
type accessFlags struct {
	tenant                    string
	pipelines, kinds, classes []string
	names                     []string
	inboxes                   []string
	limits                    access.Limits
}

func newAccessNATS(app *app) *cobra.Command {
	var f accessFlags
	cmd := &cobra.Command{
		Use:   "nats ROLE[:USER][=KEY]...",
		Short: "Print an account of nats-server's configuration, with its users",
		Long: "Prints an account for nats-server's configuration: a tenant, with streams of its own, and a user for each role given. KEY is\n" +
			"the user's public nkey; without one, the server's environment variable <TENANT>_<ROLE>_NKEY is to have it, for a user with a\n" +
			"name <TENANT>_<ROLE>_<USER>_NKEY. With -o json the permissions alone, as users' JWTs have them.\n\n" +
			"Several users of one role need names: upstream:etl upstream:ads. A flag that narrows one of them begins with its name:\n" +
			"--pipeline etl=penguin.\n\n" +
			"Each user receives answers below a prefix of its own, _INBOX.<role> or _INBOX.<user>, which its programs take from\n" +
			"NATS_INBOX_PREFIX, --nats-inbox or a context's inbox_prefix.",
		Example: `  stoker access key worker.nk
  stoker access nats --tenant acme worker=UB2LZ... upstream=UAXQR... --pipeline penguin
  stoker access nats upstream:etl=UAXQR... upstream:ads=UCD5T... --pipeline etl=penguin --pipeline ads=taxi`,
		Args: atLeastOne("a role"),
		RunE: func(_ *cobra.Command, args []string) error {
			account, err := f.account(args)
			if err != nil {
				return exit.Usage(err)
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
	flags.StringSliceVar(&f.inboxes, "inbox", nil, "prefix of inboxes (default _INBOX.<role>, or _INBOX.<user>)")
	flags.StringVar(&f.limits.Store, "max-store", "", "disk of all its streams and replicas together (default 32GB)")
	flags.StringVar(&f.limits.Memory, "max-memory", "", "memory of all its streams and replicas together (default 1GB)")
	flags.IntVar(&f.limits.Streams, "max-streams", 0, "number of its streams, registers included (default 32)")
	flags.IntVar(&f.limits.Consumers, "max-consumers", 0, "number of consumers of each stream (default 10000)")
	return cmd
}

// account reads ROLE[:USER][=KEY]... and the flags.
func (f accessFlags) account(args []string) (access.Account, error) {
	account := access.Account{Name: f.tenant, Limits: f.limits}
	for _, arg := range args {
		user, err := f.user(arg)
		if err != nil {
			return account, err
		}
		account.Users = append(account.Users, user)
	}
	for _, flag := range []struct {
		name   string
		values []string
		roles  []access.Role
		add    func(*access.Scope, string)
	}{
		{"pipeline", f.pipelines, []access.Role{access.Upstream}, func(s *access.Scope, v string) { s.Pipelines = append(s.Pipelines, v) }},
		{"kind", f.kinds, []access.Role{access.Upstream}, func(s *access.Scope, v string) { s.Kinds = append(s.Kinds, events.Kind(v)) }},
		{"class", f.classes, []access.Role{access.Worker}, func(s *access.Scope, v string) { s.Classes = append(s.Classes, v) }},
		{"name", f.names, []access.Role{access.Notifier, access.Exporter}, func(s *access.Scope, v string) { s.Names = append(s.Names, v) }},
		{"inbox", f.inboxes, access.Roles(), func(s *access.Scope, v string) { s.Inbox = v }},
	} {
		for _, value := range flag.values {
			if err := narrow(account.Users, flag.roles, value, flag.add); err != nil {
				return account, fmt.Errorf("--%s %s: %w", flag.name, value, err)
			}
		}
	}
	return account, nil
}

// narrow adds [USER=]VALUE to the scope of that user; without USER to that of the only one of each role.
func narrow(users []access.User, roles []access.Role, given string, add func(*access.Scope, string)) error {
	title, value, named := strings.Cut(given, "=")
	if !named {
		value = given
	}
	of := map[access.Role]int{}
	for i := range users {
		user := &users[i]
		if !slices.Contains(roles, user.Role) || named && user.Title() != title {
			continue
		}
		if of[user.Role]++; of[user.Role] > 1 {
			return fmt.Errorf("there are several users of role %s: expected USER=%s", user.Role, value)
		}
		add(&user.Scope, value)
	}
	if named && len(of) == 0 {
		return fmt.Errorf("expected the name of a user of role %v, got %q", roles, title)
	}
	return nil
}

// user reads ROLE[:USER][=KEY].
func (f accessFlags) user(arg string) (access.User, error) {
	title, key, given := strings.Cut(arg, "=")
	name, own, _ := strings.Cut(title, ":")
	role, err := access.ParseRole(name)
	if err != nil {
		return access.User{}, err
	}
	if !given {
		key = "$" + strings.ToUpper(strings.NewReplacer("-", "_", ":", "_").Replace(f.tenant+"_"+title)) + "_NKEY"
	}
	return access.User{Name: own, Role: role, Key: key}, nil
}

func (a *app) printAccount(account access.Account) error {
	if a.output == terminal.Table {
		return asUsage(access.WriteAccounts(a.stdout.Data("conf"), account))
	}
	permissions := map[string]access.Permissions{}
	for _, user := range account.Users {
		allowed, err := user.Bus()
		if err != nil {
			return exit.Usage(err)
		}
		permissions[user.Title()] = allowed
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
