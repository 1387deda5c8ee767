// Package chaos tests that each execution yields one model and one event, whatever is killed,
// frozen, disconnected, published twice or published in another order. It has only tests, and no
// production code depends on it: the functions are composed as in the binary, on a bus and a store
// that are wrapped here.
//
// A world is a NATS server, dispatchers and workers, each a process of its own, and an S3 server
// behind a proxy that misbehaves. All failures follow a plan that is made from a seed and counted
// in events: "the 9th life of a worker ends right after its 2nd commit", not "after 3 seconds". The
// same seed makes the same plan.
//
//	go test ./infra/chaos                            a small one
//	task chaos SEED=7 COUNT=300 EVENTS=10000           any
//	task chaos SERVERS=3 SEED=7 COUNT=300             on a cluster of three servers
//
// On three servers, which are processes, the dispatchers and workers are goroutines of the test,
// and the worker's function does not train. The failures are those of the bus: slow and cut links,
// killed and frozen leaders, wrong clocks, a lost queue; and operators cancel, pause and apply in
// between. Package history checks the final content of the bus by independent rules.
//
// Read TestOneModelForEachCause first, then world.
package chaos
