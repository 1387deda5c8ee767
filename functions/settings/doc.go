// Package settings finds what was set, and says where: flags > environment > file > default, for
// the command line, the bus and the store.
//
// Names are those that people have set already: the nats tool's for the bus (NATS_URL, its
// contexts), AWS's and MinIO's for the store (AWS_PROFILE, MC_HOST_<alias>). A context and a
// profile are places too: each stands right behind what names it, so that --context goes before
// NATS_URL, and NATS_CONTEXT behind it. Of what holds secrets nothing is shown, in errors neither.
//
// Read Find first. Nothing is connected to here; AWS's own package reads its profiles, and is
// imported nowhere else.
package settings
