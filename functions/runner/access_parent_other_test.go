//go:build unix && !linux

package runner_test

// raidParent: no other system has a sandbox.
func raidParent() {}
