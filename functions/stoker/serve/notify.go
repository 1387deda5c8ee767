package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// Sources of secrets, which must not be on a command line.
const (
	notifyURLEnv    = "STOKER_NOTIFY_URL"
	notifySecretEnv = "STOKER_NOTIFY_SECRET"
	notifyTokenEnv  = "STOKER_NOTIFY_TOKEN"
)

func newNotify(a *app.App) *cobra.Command {
	var opts notify.Options
	var urlFile, secretFile, tokenFile string
	var try bool
	var listen *string
	cmd := &cobra.Command{
		Use:         "notify",
		GroupID:     app.Operate,
		Annotations: app.Info{Role: access.Notifier}.Annotations(),
		Short:       "Send failures to a webhook",
		Long: "Follows failure events and dead letters, and posts each of them to a webhook, in order, until it answers 2xx: at least\n" +
			"once, across restarts, however long the webhook is unavailable. Events from before its first start are not sent.\n\n" +
			"The body is a CloudEvent in structured mode, or with --format text {\"text\": \"...\"}, which Slack, Mattermost and others accept.\n" +
			"--template sets the text, in Go's text/template, from .Kind .Pipeline .Run .Reason .Message .LogTail .Model .Number .ID .Type.\n" +
			"{{plain .Message}} prevents a module's text from becoming a mention or a link.\n\n" +
			"With a secret, requests are signed according to Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature); with a token,\n" +
			"they have Authorization: Bearer. Keep the webhook's address, the secret and the token off the command line: in files, or in\n" +
			notifyURLEnv + ", " + notifySecretEnv + " and " + notifyTokenEnv + ". They are never logged. Redirects are not followed.\n\n" +
			"For a second webhook, run a second notifier with another --name.",
		Example: "  STOKER_NOTIFY_URL=https://hooks.slack.com/services/... stoker notify --format text\n" +
			"  stoker notify --url-file /run/secrets/webhook --kind training.failed --kind model.trained --try",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			opts.URL, err = secretText(opts.URL, urlFile, notifyURLEnv)
			if err == nil && opts.URL == "" {
				err = exit.Usage(fmt.Errorf("notify: expected the webhook's address in %s, --url-file or --url", notifyURLEnv))
			}
			var secretErr, tokenErr error
			opts.Secret, secretErr = secretText("", secretFile, notifySecretEnv)
			opts.Token, tokenErr = secretText("", tokenFile, notifyTokenEnv)
			if err = errors.Join(err, secretErr, tokenErr); err != nil {
				return err
			}
			opts.Logger = a.Logger()
			return runNotify(cmd.Context(), a, opts, try, *listen)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.URL, "url", "", "address of the webhook; default: "+notifyURLEnv)
	flags.StringVar(&urlFile, "url-file", "", "file with the address")
	flags.StringVar(&secretFile, "secret-file", "", "file with the key that signs requests, whsec_... or any text; default: "+notifySecretEnv)
	flags.StringVar(&tokenFile, "token-file", "", "file with a bearer token; default: "+notifyTokenEnv)
	flags.StringSliceVar(&opts.Kinds, "kind", notify.DefaultKinds(), "kinds of events to send, and "+notify.Dead+" for dead letters")
	app.CompleteFlag(cmd, "kind", notify.Kinds()...)
	a.AddPipelinesFlag(cmd, &opts.Pipelines, "only these pipelines; default: all")
	flags.StringVar(&opts.Format, "format", notify.CloudEvents, notify.CloudEvents+" or "+notify.Text)
	flags.StringVar(&opts.Template, "template", "", "template of the text, with --format "+notify.Text)
	flags.StringVar(&opts.Name, "name", "default", "name of its position on the bus")
	flags.DurationVar(&opts.Timeout, "timeout", 0, "how long to wait for the webhook's answer, 20s at most (default 10s)")
	flags.BoolVar(&try, "try", false, "send one test event, print the result, and end")
	listen = listenFlag(cmd)
	return cmd
}

func runNotify(ctx context.Context, a *app.App, opts notify.Options, try bool, listen string) error {
	n, err := notify.New(nil, opts)
	if err != nil {
		return exit.Usage(err)
	}
	if try {
		if err := n.Try(ctx); err != nil {
			return err
		}
		fmt.Fprintln(a.Notes(), "the webhook accepted a test event")
		return nil
	}
	return operate(ctx, a, "notify", listen, func(ctx context.Context, o *operated) error {
		return a.WithJetStream(ctx, func(ctx context.Context, bus *jetstream.Bus) error {
			n, err := notify.New(bus, opts)
			if err != nil {
				return err
			}
			a.SayStarted("notify")
			return o.while(ctx, asListener(bus, n.Places), n.Run)
		})
	})
}

// secretText returns the secret of a flag, else of a file, else of the environment. Surrounding
// white space is removed. No error contains it.
func secretText(given, file, env string) (string, error) {
	if given != "" || file == "" {
		return strings.TrimSpace(cmp.Or(given, os.Getenv(env))), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", exit.Usage(err)
	}
	return strings.TrimSpace(string(text)), nil
}
