package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/access"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// accessS3Flags say where things are, and for which bucket a policy is.
type accessS3Flags struct {
	bucket  string
	listAll bool
}

func newAccessS3(app *app) *cobra.Command {
	var f accessS3Flags
	cmd := &cobra.Command{
		Use:   "s3 ROLE | s3 ROLE=PRINCIPAL... --bucket BUCKET",
		Short: "Print the policy of a role's user, or that of a bucket",
		Long: "Prints an S3 policy: of one role, to be attached to its user (AWS, MinIO); or with --bucket that of a bucket, for roles and\n" +
			"their principals: ARNs on AWS, access keys on versitygw. --root says where artifacts go, --inputs where upstream puts\n" +
			"what its facts name; a tenant has a prefix there.\n\n" +
			"Amazon S3 tells who may not list a whole bucket 403 instead of 404 of what is not there, which Stoker can't work with: give\n" +
			"--list-buckets there, and tenants buckets of their own.",
		Example: `  stoker access s3 worker --root s3://models/acme --inputs s3://uploads/acme
  stoker access s3 worker=WORKERKEY console=CONSOLEKEY --bucket models --root s3://models/acme`,
		Args: atLeastOne("a role"),
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := app.accessPlace(f)
			if err != nil {
				return exit.Usage(err)
			}
			policy, err := f.policy(at, args)
			if err != nil {
				return exit.Usage(err)
			}
			return app.printPolicy(policy)
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
		return policy, fmt.Errorf("--bucket %s: nobody has an errand there; places are in %s", f.bucket, strings.Join(buckets(at), ", "))
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

// accessPlace reads the addresses that flags name.
func (a *app) accessPlace(f accessS3Flags) (access.Place, error) {
	found, err := a.settings()
	if err != nil {
		return access.Place{}, err
	}
	root, err := storage.ParseRef(found.Value(settings.Root).Text)
	if err != nil {
		return access.Place{}, fmt.Errorf("--root: %w", err)
	}
	inputs, err := a.inputs()
	if err != nil {
		return access.Place{}, err
	}
	at := access.Place{Root: root, Inputs: inputs, ListAll: f.listAll}
	return at, nil
}

// printPolicy prints JSON, whatever else is asked for but YAML: policies are JSON.
func (a *app) printPolicy(policy access.Policy) error {
	if a.output != terminal.Table {
		return a.print(policy, nil)
	}
	encoder := json.NewEncoder(a.stdout.Data(terminal.JSON))
	encoder.SetIndent("", "  ")
	return encoder.Encode(policy)
}
