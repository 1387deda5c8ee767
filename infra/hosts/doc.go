// Package hosts is the proof that Stoker runs on several machines: three hosts, each a network
// namespace of its own with its own address, behind one bridge. Each has a NATS server, and
// together these are a cluster that keeps three copies of everything; two have a dispatcher and a
// worker; one has the object store. All are processes of the real binaries, configured by
// environment alone. The package contains only a test.
//
// It needs root and iproute2 (task test:hosts), and runs in namespaces that end with it.
//
// Read TestNothingIsLostBetweenHosts first, then cluster.
package hosts
