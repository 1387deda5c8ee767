// Package bridge turns uploads into events, for producers that know S3 and no NATS: when a marker object appears in a bucket, an event is
// published for the folder in which it lies. It is optional; dispatch sees no difference. Its package endpoint takes events over HTTP.
//
// # What a producer does
//
// It writes its files, and last of all the marker: an object named _SUCCESS, as Hadoop and Spark leave one by themselves,
// or as Options.Marker names it. (A manifest.json is none: Stoker writes such files next to what it publishes itself.)
//
//	aws s3 cp --recursive monday s3://data/penguin/monday
//	aws s3 cp /dev/null s3://data/penguin/monday/_SUCCESS --metadata pipeline=penguin
//
// With an empty marker the artifact is its folder, in TFX's layouts (Layouts lists them):
//
//	the folder holds           the event            with
//	Split-<name>/              examples.ready.v1    the splits that are found
//	transform_fn/              transform.ready.v1   in transform_graph/<id>, also the splits of ../../transformed_examples/<id>
//	best_hyperparameters.txt   hparams.ready.v1
//
// What else the event says comes from the first of these that says it:
//
//   - the object's metadata: pipeline, run, schema, statistics, traceparent, tracestate. MinIO sends it; AWS and versitygw leave it out
//   - the marker's body, a JSON object: pipeline, run, force, and the members of the event's data as in its schema. Addresses may be
//     relative to the folder: "." is the folder, "../schema" one next to it. transform_graph makes it a transform.ready.v1 and
//     hyperparameters an hparams.ready.v1, wherever the marker lies
//   - Options.Pipeline for the pipeline, the folder's name for the run. TFX names folders by execution: where components of one run have
//     different ids, their markers name the run
//
// A member of the body that the event does not have is refused by its name. The body that committers of Hadoop and Spark write counts as
// empty. Metadata that was probably meant for the bridge is refused too: a mistyped name (pipelin), a member that is read in the body alone
// (examples), and any name that begins with stoker. Metadata of other names, and an upload whose name differs from the marker's by case
// alone, are logged as warnings.
//
// # Permissions
//
// A marker names a pipeline, and whoever may write to a watched bucket may write a marker: by default each marker starts any pipeline.
// Where teams share a bucket or a bridge, Options.Allow (--allow s3://uploads/etl=penguin) says by prefix which pipelines markers start. A
// marker that is not covered, or names another team's pipeline, is a dead letter that names the marker and the pipeline.
//
// # Notifications
//
// The store's own: S3 event messages, as JSON, published on NATS below buckets. MinIO is configured with MINIO_NOTIFY_NATS_* (with
// JetStream on) and an event rule on the bucket; versitygw with a NATS URL and topic; `stoker up --bridge` does it for the
// embedded one. Versions of the format differ (see parse), and none of them is a CloudEvent. They wait in a stream for a week,
// so a bridge may be away for a while.
//
// MinIO keeps what it could not send, where it has a queue folder. versitygw (1.8.0) does not, and mixes up the names of objects
// that are uploaded at the same time: a marker that was announced under another name is a dead letter, and has to be written again.
//
// # Exactly one event
//
// The event's id follows from bucket, key, version and ETag alone. The same notification delivered again, or read by two bridges,
// makes one event; a marker that is written again makes another, which changes nothing for a run that has its model. A
// notification is about the body that it named: where a newer one has taken that one's place before a bridge came to read it, the
// older is a dead letter. What can never be an event is dead-lettered with a reason that names the marker, and so is a
// event that its run would ignore (Options.Checker). While the store is away, notifications
// wait.
//
// Read Bridge first.
package bridge
