package skew

import "syscall"

// diesWithParent has the kernel kill the interpreter when the process that started it is killed: a
// graph with an endless loop would keep it busy forever.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
