//go:build !linux

package python

import "syscall"

// endsWithUs is nothing where the kernel knows no such thing.
func endsWithUs() *syscall.SysProcAttr { return nil }
