// Package processtest has a fork server that needs no Python: the test's own binary.
package processtest
