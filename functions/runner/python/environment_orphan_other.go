//go:build !linux

package python

import "syscall"

// endsWithUs returns nil: the kernel has no such feature.
func endsWithUs() *syscall.SysProcAttr { return nil }
