//go:build !linux

package process

import (
	"errors"
	"syscall"
)

// check: other systems than Linux have no namespaces.
func (c Confinement) check() error {
	if c.NoNetwork {
		return errors.New("modules without a network can be had on Linux alone: leave out " + networkEnv + "=none")
	}
	return nil
}

// CanIsolate says that processes can't be started without a network here.
func CanIsolate() error { return Confinement{NoNetwork: true}.check() }

func (c Confinement) isolate(*syscall.SysProcAttr) {}
func (c Confinement) mapUser(int) error            { return nil }

// limit: other systems have no call that sets another process's limits.
func (c Confinement) limit(int) error { return nil }
