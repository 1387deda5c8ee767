// Package manifests checks the Helm chart in infra/helm without a cluster: it is linted and
// rendered by Helm's own code for several values files, and what comes out is read as strictly as
// an API server reads it, by the schemas of Kubernetes, KEDA, JobSet and the Prometheus operator.
// Commands and environment of each container are tried on the real program.
//
// It is a Go module of its own, because those schemas bring a hundred modules that Stoker has no
// other use for (task test:manifests).
//
// Read Render first, then Schemas.
package manifests
