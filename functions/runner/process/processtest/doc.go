// Package processtest has a server to fork from that needs no Python: the test's own binary.
package processtest
