// Package cluster runs three NATS servers with JetStream for tests, each a process of its own that
// syncs every write, and disturbs them: it kills and freezes servers, moves leaders, delays and
// cuts each direction of each link, and sets the wall clock of one server off by minutes.
//
// The servers reach each other, and clients reach the servers, through TCP proxies in the test's
// process. The server binary is built from testdata/server with an overlay of package time: Go
// programs read the clock without libc, so that libfaketime has no effect. Monotonic time is left
// as it is, as it is when an administrator or NTP sets the clock of a host.
//
// Read Start first, then Cluster.
package cluster
