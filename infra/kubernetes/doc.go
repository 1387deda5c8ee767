// Package kubernetes has the Helm chart in infra/helm installed, upgraded, rolled back and removed
// by Helm on a real API server of Kubernetes, with the definitions of KEDA, JobSet and the
// Prometheus operator. The server checks what infra/manifests can only read: validation,
// immutable fields, admission, permissions, the lengths of names. It contains only tests.
//
// Nothing acts on the objects: there are no controllers, no scheduler and no nodes. The tests
// create the Jobs and Pods that controllers would create, for the server to check.
//
// With controllers and nodes the chart runs in package nodes. Package kube starts the servers of
// both.
//
// It is a Go module of its own, because it builds kube-apiserver, etcd and Helm (build.sh, task
// test:kubernetes). It needs root, and runs in network, mount and process namespaces that end with
// it.
//
// Read TestMain first, then TestEachValuesFileIsInstalledUpgradedAndRemoved.
package kubernetes
