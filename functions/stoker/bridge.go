package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/bridge"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

func newBridge(app *app) *cobra.Command {
	var opts bridge.Options
	var listen *string
	var allow []string
	var http endpointFlags
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Publish events for marker objects, or events of HTTP",
		Long: "For producers that know S3 and no NATS: they upload a folder, and last an object named " + bridge.DefaultMarker + " in it.\n" +
			"The bridge then publishes an event for that folder, once for each upload of the marker: examples.ready if it holds Split-<name>\n" +
			"folders, transform.ready if it holds transform_fn, hparams.ready if it holds best_hyperparameters.txt. These are TFX's layouts.\n\n" +
			"The marker's metadata (pipeline, run, schema, statistics, traceparent) or its body say what is meant; the body is a JSON object with the same\n" +
			"members, and those of the event's data: examples, transform_graph, transformed_examples, hyperparameters and so on. The run of an empty\n" +
			"marker is named as the folder. What can't be understood is a dead letter: `stoker dead`.\n\n" +
			"Whoever can write a marker starts the pipeline that it names. Where teams share a bucket, --allow says by prefix which they\n" +
			"may start: --allow s3://uploads/etl=penguin,fish --allow s3://uploads/ads=taxi. The longest prefix counts; markers that\n" +
			"no prefix covers are dead letters then.\n\n" +
			"The store has to send S3 event messages to NATS subjects below buckets. MinIO does so with JetStream:\n" +
			"  MINIO_NOTIFY_NATS_ENABLE_STOKER=on MINIO_NOTIFY_NATS_ADDRESS_STOKER=host:4222 MINIO_NOTIFY_NATS_JETSTREAM_STOKER=on\n" +
			"  MINIO_NOTIFY_NATS_SUBJECT_STOKER=buckets.minio, a user or token, and MINIO_NOTIFY_NATS_QUEUE_DIR_STOKER, so that it keeps\n" +
			"  what it can't send; then: mc event add ALIAS/BUCKET arn:minio:sqs::STOKER:nats --event put --suffix " + bridge.DefaultMarker + "\n" +
			"The local stack has all of this: `stoker up --bridge`.\n\n" +
			"With --http it takes CloudEvents over HTTP instead, for producers that know neither: POST / in binary, structured or batch\n" +
			"mode. 202 means that the events are stored; on 503 the same request is repeated. Requests have Authorization: Bearer with the\n" +
			"token of " + bridgeTokenEnv + " or --http-token-file, or clients a certificate (--http-client-ca). Without either it listens\n" +
			"on loopback alone. It needs no store, and the key of an upstream.",
		Example: "  stoker bridge --pipeline penguin\n" +
			"  stoker bridge --http :8443 --http-token-file token --http-cert tls.crt --http-key tls.key --http-pipeline penguin",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := http.check(cmd); err != nil {
				return err
			}
			if http.address != "" {
				return app.serveEvents(cmd.Context(), http, *listen)
			}
			opts.Logger = app.logger()
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
			return app.operate(cmd.Context(), "bridge", *listen, func(ctx context.Context, o *operated) error {
				return app.bridge(ctx, o, opts)
			})
		},
	}
	cmd.Flags().StringVar(&opts.Marker, "marker", bridge.DefaultMarker, "name of the marker object")
	cmd.Flags().StringVar(&opts.Pipeline, "pipeline", "", "pipeline of markers that name none; default: they are dead letters")
	cmd.Flags().StringArrayVar(&allow, "allow", nil, "s3://BUCKET/PREFIX=PIPELINE,...: what markers there may start (default any)")
	http.add(cmd)
	listen = listenFlag(cmd)
	return cmd
}

func (a *app) bridge(ctx context.Context, o *operated, opts bridge.Options) error {
	return a.withLink(ctx, func(ctx context.Context, l link) error {
		opts.Telemetry = o.Telemetry
		b, err := bridge.New(o.Letterbox(l.box), l.store, opts)
		if err != nil {
			return err
		}
		a.sayStarted("bridge", "store "+fmt.Sprint(l.store))
		needs := asReader(l.box.BucketLag, l.box.MayFollowBuckets, bridge.Reader)
		needs.needs["store"] = storeNeed(l.store, l.root)
		return o.while(ctx, needs, b.Run)
	})
}

// upBridge adds the flags of a bridge to up. It returns the bridge that they ask for, once they are parsed.
func upBridge(cmd *cobra.Command) func() (*bridge.Options, error) {
	var wanted bool
	var opts bridge.Options
	cmd.Flags().BoolVar(&wanted, "bridge", false, "also start runs by uploads of "+bridge.DefaultMarker+" to the store; see stoker bridge")
	cmd.Flags().StringVar(&opts.Pipeline, "bridge-pipeline", "", "pipeline of uploads that name none")
	return func() (*bridge.Options, error) {
		if !wanted && opts.Pipeline != "" {
			return nil, exit.Usage(fmt.Errorf("--bridge-pipeline %s: nothing without --bridge", opts.Pipeline))
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
