// Package nodes has the Helm chart in infra/helm run in a cluster of three nodes: workers from zero
// and back, nodes that are drained and pods that are killed amid trainings, upgrades under load,
// keys that are replaced, and what pods can reach. It contains only tests.
//
// All tests share one cluster and one installation, and run one after another, because they count
// pods. Node 1 has the object store, and is never drained; pods of workers are on nodes 2 and 3.
//
// Read TestMain first, then install, then TestRunsFromZeroToManyToZero.
package nodes
