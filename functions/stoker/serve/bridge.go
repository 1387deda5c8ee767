package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/integrate/bridge/endpoint"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

func bridgeHelp() string {
	return "For producers that use S3 and not NATS: they upload a folder, and as its last object a marker named " + bridge.DefaultMarker + ".\n" +
		"The bridge then publishes one event for each upload of a marker. The kind of the event follows from the folder's\n" +
		"contents, in TFX's layouts:\n" + bridge.Layouts() + "\n" +
		"The marker's metadata (pipeline, run, schema, statistics, traceparent) or its body set the event's attributes. The body is a JSON object with the same\n" +
		"members and those of the event's data: examples, transform_graph, transformed_examples, hyperparameters and so on. Without a run, the\n" +
		"run key is the folder's name. Markers that can't be parsed become dead letters: see `stoker dead`.\n\n" +
		"A client that can write a marker can start the pipeline that it names. If teams share a bucket, --allow lists by prefix the pipelines\n" +
		"that may be started: --allow s3://uploads/etl=penguin,fish --allow s3://uploads/ads=taxi. The longest prefix applies; markers that\n" +
		"no prefix covers become dead letters.\n\n" +
		"As with `stoker publish`, an event that its run would ignore is not published: its marker becomes a dead letter. --anyway publishes it.\n" +
		"The role bridge permits that check.\n\n" +
		"The store has to send S3 event messages to NATS subjects below buckets. MinIO does so with JetStream:\n" +
		"  MINIO_NOTIFY_NATS_ENABLE_STOKER=on MINIO_NOTIFY_NATS_ADDRESS_STOKER=host:4222 MINIO_NOTIFY_NATS_JETSTREAM_STOKER=on\n" +
		"  MINIO_NOTIFY_NATS_SUBJECT_STOKER=buckets.minio, a user or token, and MINIO_NOTIFY_NATS_QUEUE_DIR_STOKER, so that it keeps\n" +
		"  notifications that it can't send; then: mc event add ALIAS/BUCKET arn:minio:sqs::STOKER:nats --event put --suffix " + bridge.DefaultMarker + "\n" +
		"`stoker up --bridge` runs a bridge in the local stack.\n\n" +
		"With --http it accepts CloudEvents over HTTP instead, for producers that use neither: POST / in binary, structured or batch\n" +
		"mode. Status 202 means that the events are stored; after 503 repeat the request. Events that\n" +
		"would be ignored are refused with 409 or 422, except with --anyway or in a request to /?anyway=true. Requests need Authorization: Bearer with the\n" +
		"token of " + bridgeTokenEnv + " or --http-token-file, or a client certificate (--http-client-ca). Without either it listens only\n" +
		"on loopback. It needs no store. It needs the role bridge, or upstream, which does not permit the check."
}

func newBridge(a *app.App) *cobra.Command {
	var opts bridge.Options
	var listen *string
	var allow []string
	var anyway bool
	var http endpointFlags
	cmd := &cobra.Command{
		Use:         "bridge",
		GroupID:     app.Operate,
		Annotations: app.Info{Role: access.Bridge}.Annotations(),
		Short:       "Publish events from marker objects or HTTP requests",
		Long:        bridgeHelp(),
		Example: "  stoker bridge --pipeline penguin\n" +
			"  stoker bridge --http :8443 --http-token-file token --http-cert tls.crt --http-key tls.key --http-pipeline penguin",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := http.check(cmd); err != nil {
				return err
			}
			if http.address != "" {
				return serveEvents(cmd.Context(), a, http, anyway, *listen)
			}
			opts.Logger = a.Logger()
			for _, text := range allow {
				rule, err := bridge.ParseRule(text)
				if err != nil {
					return exit.Usage(fmt.Errorf("--allow: %w", err))
				}
				opts.Allow = append(opts.Allow, rule)
			}
			if _, err := bridge.New(nil, nil, opts); err != nil {
				return exit.Usage(err)
			}
			return operate(cmd.Context(), a, "bridge", *listen, func(ctx context.Context, o *operated) error {
				return runBridge(ctx, a, o, opts, anyway)
			})
		},
	}
	cmd.Flags().StringVar(&opts.Marker, "marker", bridge.DefaultMarker, "name of the marker object")
	a.AddPipelineFlag(cmd, &opts.Pipeline, "pipeline of markers that name none; default: they become dead letters")
	cmd.Flags().StringArrayVar(&allow, "allow", nil, "s3://BUCKET/PREFIX=PIPELINE,...: pipelines that markers there may start (default any)")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "also publish events that would be ignored")
	http.add(cmd)
	listen = listenFlag(cmd)
	return cmd
}

func runBridge(ctx context.Context, a *app.App, o *operated, opts bridge.Options, anyway bool) error {
	return a.WithLink(ctx, func(ctx context.Context, l app.Link) error {
		opts.Telemetry = o.Telemetry
		bus := o.Bus(l.Bus)
		opts.Checker = submit.NewChecker(bus, anyway, opts.Logger)
		b, err := bridge.New(bus, l.Store, opts)
		if err != nil {
			return err
		}
		a.SayStarted("bridge", "store "+fmt.Sprint(l.Store))
		needs := asReader(l.Bus.BucketLag, l.Bus.MayFollowBuckets, bridge.Reader)
		needs.needs["store"] = storeNeed(l.Store, l.Root)
		return o.while(ctx, needs, b.Run)
	})
}

// upBridge adds the flags of a bridge to up. It returns a function for the options of the bridge
// that they request, once they are parsed.
func upBridge(cmd *cobra.Command) func() (*bridge.Options, error) {
	var wanted bool
	var opts bridge.Options
	cmd.Flags().BoolVar(&wanted, "bridge", false, "also start runs by uploads of "+bridge.DefaultMarker+" to the store; see stoker bridge")
	cmd.Flags().StringVar(&opts.Pipeline, "bridge-pipeline", "", "pipeline of uploads that name none")
	return func() (*bridge.Options, error) {
		if !wanted && opts.Pipeline != "" {
			return nil, exit.Usage(fmt.Errorf("--bridge-pipeline %s: it has no effect without --bridge", opts.Pipeline))
		}
		if !wanted {
			return nil, nil
		}
		if _, err := bridge.New(nil, nil, opts); err != nil {
			return nil, exit.Usage(fmt.Errorf("--bridge-pipeline: %w", err))
		}
		return &opts, nil
	}
}

// bridgeTokenEnv is the environment variable with the token of the HTTP endpoint.
const bridgeTokenEnv = "STOKER_BRIDGE_TOKEN"

// endpointFlags are the flags of `stoker bridge` for events over HTTP.
type endpointFlags struct {
	address, tokenFile string
	tls                endpoint.TLS
	pipelines          []string
}

func (f *endpointFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "http", "", "host:port to accept CloudEvents over HTTP, instead of markers")
	flags.StringVar(&f.tokenFile, "http-token-file", "", "file with the bearer token of requests; default: "+bridgeTokenEnv)
	flags.StringVar(&f.tls.Cert, "http-cert", "", "file with the certificate of the endpoint, in PEM")
	flags.StringVar(&f.tls.Key, "http-key", "", "file with its key")
	flags.StringVar(&f.tls.ClientCA, "http-client-ca", "", "file with the certificates that sign those of clients (mTLS)")
	flags.StringSliceVar(&f.pipelines, "http-pipeline", nil, "pipeline that events may name (default any)")
}

// check returns an error for flags that can't be combined.
func (f *endpointFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for _, name := range []string{"http-token-file", "http-cert", "http-key", "http-client-ca", "http-pipeline"} {
		if changed(name) && f.address == "" {
			return exit.Usage(fmt.Errorf("--%s: it has no effect without --http", name))
		}
	}
	for _, name := range []string{"marker", "pipeline", "allow"} {
		if changed(name) && f.address != "" {
			return exit.Usage(fmt.Errorf("--%s applies to markers, and with --http there are none: run one bridge for markers and one with --http", name))
		}
	}
	if f.tls.ClientCA != "" && f.tls.Cert == "" {
		return exit.Usage(errors.New("--http-client-ca: client certificates need TLS: add --http-cert and --http-key"))
	}
	return app.Together(cmd, "http-cert", "http-key")
}

// token returns a function for the token that requests must have, or nil if there is no token.
func (f *endpointFlags) token(logger *slog.Logger) (func() string, error) {
	if f.tokenFile == "" {
		token := strings.TrimSpace(os.Getenv(bridgeTokenEnv))
		if token == "" {
			return nil, nil
		}
		return func() string { return token }, checkBridgeToken(token, bridgeTokenEnv)
	}
	file := &fileToken{name: f.tokenFile, logger: logger}
	if err := file.reread(); err != nil {
		return nil, exit.Usage(fmt.Errorf("--http-token-file: %w", err))
	}
	return file.get, nil
}

func checkBridgeToken(token, from string) error {
	const least = 16
	if len(token) < least {
		return exit.Usage(fmt.Errorf("%s: a token of %d characters: expected %d or more", from, len(token), least))
	}
	return nil
}

// fileToken is a token in a file, which may be replaced.
type fileToken struct {
	name   string
	logger *slog.Logger

	mu    sync.Mutex
	token string
	read  time.Time
}

// get returns the current token. If the file can't be read any more, it returns the previous one.
func (f *fileToken) get() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.read) >= renewTime {
		if err := f.reread(); err != nil {
			f.logger.Warn("token not reloaded; the previous one stays in use", "error", err)
		}
	}
	return f.token
}

func (f *fileToken) reread() error {
	f.read = time.Now()
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(text))
	if err := checkBridgeToken(token, f.name); err != nil {
		return err
	}
	f.token = token
	return nil
}

// serveEvents runs the endpoint. It refuses to listen on other addresses than loopback without
// authentication.
func serveEvents(ctx context.Context, a *app.App, f endpointFlags, anyway bool, listen string) error {
	opts := endpoint.Options{Pipelines: f.pipelines, Certificates: f.tls.ClientCA != "", Logger: a.Logger()}
	if _, err := endpoint.New(nil, opts); err != nil {
		return exit.Usage(fmt.Errorf("--http-pipeline: %w", err))
	}
	var err error
	if opts.Token, err = f.token(opts.Logger); err != nil {
		return err
	}
	var config *tls.Config
	if f.tls.Cert != "" {
		if config, err = f.tls.Config(opts.Logger); err != nil {
			return exit.Usage(fmt.Errorf("--http-cert: %w", err))
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.address)
	if err != nil {
		return exit.Usage(fmt.Errorf("--http %s: %w", f.address, err))
	}
	defer listener.Close()
	if !isLoopback(listener.Addr()) && opts.Token == nil && !opts.Certificates {
		return exit.Usage(fmt.Errorf("--http %s: every client that reaches this address could start training: set a token (%s or --http-token-file), "+
			"or require client certificates (--http-client-ca)", f.address, bridgeTokenEnv))
	}
	return operate(ctx, a, "bridge", listen, func(ctx context.Context, o *operated) error {
		return a.WithJetStream(ctx, func(ctx context.Context, bus *jetstream.Bus) error {
			watched := o.Bus(bus)
			opts.Checker = submit.NewChecker(watched, anyway, opts.Logger)
			e, err := endpoint.New(watched, opts)
			if err != nil {
				return err
			}
			sayEndpoint(a, listener.Addr(), config != nil, opts)
			needs := asks{needs: map[string]telemetry.Need{"bus": bus.MayLookAtEvents}}
			return o.while(ctx, needs, func(ctx context.Context) error { return e.Serve(ctx, listener, config) })
		})
	})
}

// sayEndpoint prints where events are accepted, and from whom.
func sayEndpoint(a *app.App, at net.Addr, secure bool, opts endpoint.Options) {
	scheme, from := "http", "all clients on this machine"
	if secure {
		scheme = "https"
	}
	switch {
	case opts.Token != nil && opts.Certificates:
		from = "clients with the token and a certificate"
	case opts.Token != nil:
		from = "clients with the token"
	case opts.Certificates:
		from = "clients with a certificate"
	}
	pipelines := cmp.Or(strings.Join(opts.Pipelines, ", "), "any pipeline")
	a.SayStarted("bridge", fmt.Sprintf("events at %s://%s/ from %s for %s", scheme, at, from, pipelines))
	if !secure && opts.Token != nil && !isLoopback(at) {
		fmt.Fprintln(a.Notes(), "the token is sent unencrypted: add --http-cert and --http-key, or put a TLS proxy in front")
	}
}
