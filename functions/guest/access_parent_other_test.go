//go:build unix && !linux

package guest_test

// raidParent: no other system has a sandbox.
func raidParent() {}
