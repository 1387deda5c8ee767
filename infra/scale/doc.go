// Package scale is what KEDA does with Stoker's queue, without a cluster: the lag of a consumer as
// the nats-jetstream scaler computes it, and how many Jobs a ScaledJob starts for it. Its test
// walks from no worker to several and back with real processes. infra/keda is KEDA's own code,
// which the same test confirms it by (task test:keda).
//
// Read Consumer first, then ScaledJob.
package scale
