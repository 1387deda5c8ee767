// Package manifests checks the Helm chart in infra/helm without a cluster: it lints and renders it
// with Helm's own code for several values files, and reads the manifests as strictly as an API
// server does, by the schemas of Kubernetes, KEDA, JobSet and the Prometheus operator. It runs the
// real program with the command and the environment of each container.
//
// It is a Go module of its own, because those schemas bring a hundred modules that Stoker has no
// other use for (task test:manifests).
//
// Read Render first, then Schemas.
package manifests
