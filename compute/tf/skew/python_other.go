//go:build !linux

package skew

import "syscall"

// diesWithParent returns nil: only Linux kills a process when its parent dies.
func diesWithParent() *syscall.SysProcAttr { return nil }
