// Package bridge turns uploads into events, for producers that use S3 and not NATS: when a marker
// object appears in a bucket, the bridge publishes an event for the folder that holds it. It is
// optional; dispatch sees no difference. Its subpackage endpoint accepts events over HTTP.
//
// # Producers
//
// A producer writes its files, and finally the marker: an object named _SUCCESS, which Hadoop and
// Spark write by themselves, or with the name in Options.Marker. (A manifest.json can't be a
// marker: Stoker writes such files next to the artifacts that it publishes itself.)
//
//	aws s3 cp --recursive monday s3://data/penguin/monday
//	aws s3 cp /dev/null s3://data/penguin/monday/_SUCCESS --metadata pipeline=penguin
//
// With an empty marker the artifact is its folder, in TFX's layouts (Layouts lists them):
//
//	the folder holds           the event            with
//	Split-<name>/              examples.ready.v1    the splits found
//	transform_fn/              transform.ready.v1   in transform_graph/<id>, also the splits of
//	                                                ../../transformed_examples/<id>
//	best_hyperparameters.txt   hparams.ready.v1
//
// The other fields of the event come from the first of these that has them:
//
//   - the object's metadata: pipeline, run, schema, statistics, traceparent, tracestate. MinIO
//     sends it; AWS and versitygw leave it out
//   - the marker's body, a JSON object: pipeline, run, force, and the members of the event's data
//     as in its schema. Addresses may be relative to the folder: "." is the folder, "../schema" one
//     next to it. With transform_graph it is a transform.ready.v1, and with hyperparameters an
//     hparams.ready.v1, whatever the folder holds
//   - Options.Pipeline for the pipeline, the folder's name for the run. TFX names folders by
//     execution: if components of one run have different ids, their markers must name the run
//
// An unknown member of the body is an error that names it. The body that the committers of Hadoop
// and Spark write counts as empty. Metadata that was probably meant for the bridge is an error too:
// a mistyped name (pipelin), a member that is only read in the body (examples), and any name that
// begins with stoker. Other metadata, and an upload whose name differs from the marker's only by
// case, are logged as warnings.
//
// # Permissions
//
// A marker names a pipeline, and every client that may write to a watched bucket may write a
// marker: by default a marker may start any pipeline. If teams share a bucket or a bridge,
// Options.Allow (--allow s3://uploads/etl=penguin) restricts by prefix which pipelines markers may
// start. A marker that is not covered, or names another team's pipeline, is a dead letter that
// names the marker and the pipeline.
//
// # Notifications
//
// Notifications are the store's own: S3 event messages, as JSON, published on NATS below buckets.
// MinIO is configured with MINIO_NOTIFY_NATS_* (with JetStream on) and an event rule on the bucket;
// versitygw with a NATS URL and topic; `stoker up --bridge` configures the embedded one. Versions
// of the format differ (see parse), and none of them is a CloudEvent. A stream keeps them for a
// week, so a bridge may be down for a while.
//
// MinIO keeps messages that it could not send, if it has a queue folder. versitygw (1.8.0) does
// not, and mixes up the names of objects that are uploaded concurrently: a marker that is announced
// under another name becomes a dead letter, and must be written again.
//
// # Exactly one event
//
// The event's id depends only on bucket, key, version and ETag. The same notification, delivered
// again or to two bridges, makes one event; a marker that is written again makes another, which has
// no effect on a run that has its model. A notification refers to the body that it named: if that
// was replaced before a bridge read it, the older notification becomes a dead letter. A
// notification that can never be an event is dead-lettered with a reason that names the marker, and
// so is an event that its run would ignore (Options.Checker). While the store is unavailable,
// notifications wait.
//
// Read Bridge first.
package bridge
