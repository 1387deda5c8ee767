package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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
		Use:     "access",
		GroupID: app.Operate,
		Short:   "Create keys and policies for roles",
		Long: "Prints the permissions of each role on the bus and in the store. It connects to no server and changes nothing.\n\n" +
			"Roles: upstream (publishes the events of its pipelines, uploads their artifacts), dispatcher, worker, bridge, console (reads\n" +
			"everything; enough for runs, logs, watch, lineage and the like), notifier (notify), exporter (lineage export) and\n" +
			"operator (creates the streams, deploys pipelines, retries and cancels).",
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
		Long: "Creates an nkey for one user of the bus. Keep the file secret: the user's programs read it from NATS_NKEY or --nats-nkey. The\n" +
			"public key belongs in the server's configuration: see `stoker access nats`.",
		Example: "  stoker access key worker.nk",
		Args:    app.Exactly(1, "a file"),
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
		Long: "Prints an account for nats-server's configuration: a tenant with its own streams, and a user for each role given. KEY is\n" +
			"the user's public nkey. Without one, the server reads it from its environment variable <TENANT>_<ROLE>_NKEY, or, for a named\n" +
			"user, <TENANT>_<ROLE>_<USER>_NKEY. -o json prints only the permissions, in the form used in users' JWTs.\n\n" +
			"Several users of one role need names: upstream:etl upstream:ads. To restrict one of them, begin the flag's value with its name:\n" +
			"--pipeline etl=penguin.\n\n" +
			"Each user receives replies below its own inbox prefix, _INBOX.<role> or _INBOX.<user>, which its programs read from\n" +
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
	a.AddPipelinesFlag(cmd, &f.pipelines, "of upstream: pipelines whose events it may publish")
	flags.StringSliceVar(&f.kinds, "kind", nil, "of upstream: kinds of events it may publish (default examples.ready,transform.ready)")
	app.CompleteFlag(cmd, "kind", app.PublishedKinds()...)
	flags.StringSliceVar(&f.classes, "class", nil, "of worker: resource classes whose jobs it may claim (default any)")
	flags.StringSliceVar(&f.names, "name", nil, "of notifier or exporter: the --name of its command (default that command's)")
	flags.StringSliceVar(&f.inboxes, "inbox", nil, "inbox prefix (default _INBOX.<role>, or _INBOX.<user>)")
	flags.StringVar(&f.limits.Store, "max-store", "", "disk space for all streams and replicas together (default 32GB)")
	flags.StringVar(&f.limits.Memory, "max-memory", "", "memory for all streams and replicas together (default 1GB)")
	flags.IntVar(&f.limits.Streams, "max-streams", 0, "number of streams, including KV buckets (default 32)")
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
			return fmt.Errorf("role %s has several users: expected USER=%s", user.Role, value)
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
		Long: "Prints an S3 policy: for one role, to attach to its user (AWS, MinIO); or, with --bucket, for a bucket, which lists roles and\n" +
			"their principals: ARNs on AWS, access keys on versitygw. --root is the address of artifacts, --inputs the addresses below\n" +
			"which upstream stores its artifacts. Give each tenant a prefix of its own.\n\n" +
			"Stoker needs status 404 for missing objects. Amazon S3 returns 403 to clients that may not list the whole bucket: on AWS, use\n" +
			"--list-buckets and give each tenant a bucket of its own.",
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
	flags.StringVar(&f.bucket, "bucket", "", "print the policy of this bucket")
	flags.BoolVar(&f.listAll, "list-buckets", false, "let roles list whole buckets, which Amazon S3 requires")
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
		return policy, fmt.Errorf("--bucket %s: no role needs it: --root and --inputs name %s", f.bucket, strings.Join(buckets(at), ", "))
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
		Annotations: app.Info{Role: app.NoRole, Output: app.List, Names: "the command",
			Always: "command role",
		}.Annotations(),
		Short: "List the role that each command needs",
		Long:  "Lists the commands that use the bus or the store, and the role whose credentials are sufficient for each.",
		Example: "  stoker access roles\n" +
			`  stoker access roles -o json | jq -r '.[] | select(.role == "upstream") | .command'`,
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []commandRole
			infos := app.Infos(cmd.Root())
			for _, command := range slices.Sorted(maps.Keys(infos)) {
				all = append(all, commandRole{command, infos[command].Role})
			}
			name := func(line commandRole) string { return line.Command }
			return app.PrintList(a, app.Listing[commandRole]{Items: all, Name: name, Columns: []app.Column[commandRole]{
				{Head: "COMMAND", Of: func(line commandRole) any { return line.Command }},
				{Head: "ROLE", Of: func(line commandRole) any { return line.Role }},
			}})
		},
	}
}
