package python

import "syscall"

// endsWithUs makes the kernel end a process whose parent was killed: an installer that continues
// would write into an environment that the next worker makes anew.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
