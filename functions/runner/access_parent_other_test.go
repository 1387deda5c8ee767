//go:build unix && !linux

package runner_test

// raidParent does nothing: no other system has a sandbox.
func raidParent() {}
