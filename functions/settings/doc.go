// Package settings finds settings, and where they were set: flags > environment > file > default,
// for the command line, the bus and the store.
//
// It uses names that users have set already: the nats tool's for the bus (NATS_URL, its contexts),
// AWS's and MinIO's for the store (AWS_PROFILE, MC_HOST_<alias>). A context and a profile are
// places too: each comes right after the place that names it, so that --context overrides NATS_URL,
// and NATS_CONTEXT does not. Secrets are never shown, not even in errors.
//
// Read Find first. The package makes no connections; AWS's own package reads its profiles, and is
// imported nowhere else.
package settings
