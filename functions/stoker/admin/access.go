package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

func newAccess(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Create keys and policies for roles",
		Long: "Prints the permissions of each role, for the bus and for the store. It connects to nothing, and changes nothing.\n\n" +
			"The roles: upstream (publishes the events of its pipelines, uploads what they name), dispatcher, worker, bridge, console (sees\n" +
			"all, changes nothing; runs, logs, watch, lineage and the like need no more), notifier (notify), exporter (lineage export) and\n" +
			"operator (makes the streams, deploys, retries, cancels).",
	}
	cmd.AddCommand(newAccessKey(a), newAccessNATS(a), newAccessS3(a), newAccessRoles(a))
	return cmd
}

// madeKey is the result of access key. The seed stays in its file.
type madeKey struct {
	Public string `json:"public"`
	File   string `json:"file"`
}

func newAccessKey(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "key FILE",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Create an nkey: seed to a file, public key printed",
		Long: "Makes an nkey for one user of the bus. The file is for that user alone, who names it by NATS_NKEY or --nats-nkey; the public\n" +
			"key is for the server, see `stoker access nats`.",
		Args: app.Exactly(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := access.NewKey(args[0])
			if err != nil {
				return err
			}
			return a.Print(madeKey{public, args[0]}, func(w io.Writer) { fmt.Fprintln(w, public) })
		},
	}
}

// accessFlags restrict users on the bus. Values are [USER=]VALUE.
type accessFlags struct {
	tenant                    string
	pipelines, kinds, classes []string
	names                     []string
	inboxes                   []string
	limits                    access.Limits
}

func newAccessNATS(a *app.App) *cobra.Command {
	var f accessFlags
	cmd := &cobra.Command{
		Use:         "nats ROLE[:USER][=KEY]...",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Print an account for nats-server's configuration",
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
		Args: app.AtLeastOne("a role"),
		RunE: func(_ *cobra.Command, args []string) error {
			account, err := f.account(args)
			if err != nil {
				return exit.Usage(err)
			}
			return printAccount(a, account)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tenant, "tenant", "stoker", "name of the account")
	a.AddPipelinesFlag(cmd, &f.pipelines, "of upstream: pipelines whose events it publishes")
	flags.StringSliceVar(&f.kinds, "kind", nil, "of upstream: kinds of its events (default examples.ready,transform.ready)")
	app.CompleteFlag(cmd, "kind", app.PublishedKinds()...)
	flags.StringSliceVar(&f.classes, "class", nil, "of worker: resource classes whose jobs it takes (default any)")
	flags.StringSliceVar(&f.names, "name", nil, "of notifier or exporter: the --name of its command (default that command's)")
	flags.StringSliceVar(&f.inboxes, "inbox", nil, "prefix of inboxes (default _INBOX.<role>, or _INBOX.<user>)")
	flags.StringVar(&f.limits.Store, "max-store", "", "disk of all its streams and replicas together (default 32GB)")
	flags.StringVar(&f.limits.Memory, "max-memory", "", "memory of all its streams and replicas together (default 1GB)")
	flags.IntVar(&f.limits.Streams, "max-streams", 0, "number of its streams, KV buckets included (default 32)")
	flags.IntVar(&f.limits.Consumers, "max-consumers", 0, "number of consumers of each stream (default 10000)")
	return cmd
}

// account parses ROLE[:USER][=KEY]... and the flags.
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

// narrow adds [USER=]VALUE to the scope of that user; without USER to that of the only user of each
// role.
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

// user parses ROLE[:USER][=KEY].
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

func printAccount(a *app.App, account access.Account) error {
	if a.Output == terminal.Table {
		return asUsage(access.WriteAccounts(a.Stdout.Data("conf"), account))
	}
	permissions := map[string]access.Permissions{}
	for _, user := range account.Users {
		allowed, err := user.Bus()
		if err != nil {
			return exit.Usage(err)
		}
		permissions[user.Title()] = allowed
	}
	return a.Print(permissions, nil)
}

// asUsage makes an error one of usage: all input here is from the command line.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return exit.Usage(err)
}

// accessS3Flags name the servers, and the bucket of a policy.
type accessS3Flags struct {
	bucket  string
	listAll bool
}

func newAccessS3(a *app.App) *cobra.Command {
	var f accessS3Flags
	cmd := &cobra.Command{
		Use:         "s3 ROLE | s3 ROLE=PRINCIPAL... --bucket BUCKET",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Print the store policy of a role or a bucket",
		Long: "Prints an S3 policy: of one role, to be attached to its user (AWS, MinIO); or with --bucket that of a bucket, for roles and\n" +
			"their principals: ARNs on AWS, access keys on versitygw. --root says where artifacts go, --inputs where upstream puts\n" +
			"what its events name; a tenant has a prefix there.\n\n" +
			"Amazon S3 answers a client that may not list a whole bucket with 403 instead of 404 of what is not there, which Stoker can't work with: give\n" +
			"--list-buckets there, and tenants buckets of their own.",
		Example: `  stoker access s3 worker --root s3://models/acme --inputs s3://uploads/acme
  stoker access s3 worker=WORKERKEY console=CONSOLEKEY --bucket models --root s3://models/acme`,
		Args: app.AtLeastOne("a role"),
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := accessPlace(a, f)
			if err != nil {
				return exit.Usage(err)
			}
			policy, err := f.policy(at, args)
			if err != nil {
				return exit.Usage(err)
			}
			return printPolicy(a, policy)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.bucket, "bucket", "", "make the policy of this bucket")
	flags.BoolVar(&f.listAll, "list-buckets", false, "let roles list whole buckets, as Amazon S3 wants it")
	return cmd
}

func (f accessS3Flags) policy(at access.Place, args []string) (access.Policy, error) {
	of, last := map[string]access.Policy{}, access.Policy{}
	for _, arg := range args {
		name, principal, given := strings.Cut(arg, "=")
		role, err := access.ParseRole(name)
		if err != nil {
			return access.Policy{}, err
		}
		if given != (f.bucket != "") || given && principal == "" || !given && len(args) > 1 {
			return access.Policy{}, fmt.Errorf("%s: expected one ROLE, or --bucket and a ROLE=PRINCIPAL for each", arg)
		}
		if last, err = role.Policy(at); err != nil {
			return access.Policy{}, err
		}
		of[principal] = last
	}
	if f.bucket == "" {
		return last, nil
	}
	policy := access.BucketPolicy(f.bucket, of)
	if len(policy.Statement) == 0 {
		return policy, fmt.Errorf("--bucket %s: no role needs it; places are in %s", f.bucket, strings.Join(buckets(at), ", "))
	}
	return policy, nil
}

func buckets(at access.Place) []string {
	names := []string{at.Root.Bucket}
	for _, in := range at.Inputs {
		names = append(names, in.Bucket)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// accessPlace returns the addresses that flags name.
func accessPlace(a *app.App, f accessS3Flags) (access.Place, error) {
	found, err := a.Settings()
	if err != nil {
		return access.Place{}, err
	}
	root, err := storage.ParseRef(found.Value(settings.Root).Text)
	if err != nil {
		return access.Place{}, fmt.Errorf("--root: %w", err)
	}
	inputs, err := a.Inputs()
	if err != nil {
		return access.Place{}, err
	}
	at := access.Place{Root: root, Inputs: inputs, ListAll: f.listAll}
	return at, nil
}

// printPolicy prints JSON, unless YAML was requested: policies are JSON.
func printPolicy(a *app.App, policy access.Policy) error {
	if a.Output != terminal.Table {
		return a.Print(policy, nil)
	}
	encoder := json.NewEncoder(a.Stdout.Data(terminal.JSON))
	encoder.SetIndent("", "  ")
	return encoder.Encode(policy)
}

// commandRole is a line of `stoker access roles`.
type commandRole struct {
	Command string      `json:"command"`
	Role    access.Role `json:"role"`
}

func newAccessRoles(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "roles",
		Annotations: app.Info{Role: app.NoRole, Output: app.List,
			Always: "command role",
		}.Annotations(),
		Short: "List the role that each command needs",
		Long:  "Lists the commands that ask the bus or the store for something, and the role whose key is enough for each.",
		Args:  app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []commandRole
			infos := app.Infos(cmd.Root())
			for _, command := range slices.Sorted(maps.Keys(infos)) {
				all = append(all, commandRole{command, infos[command].Role})
			}
			return a.Print(all, func(w io.Writer) {
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
