package python

import "syscall"

// endsWithUs has the kernel end a process whose parent was killed: an installer that works on would
// write into an environment that the next worker makes anew.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
