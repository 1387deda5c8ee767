package skew

import "syscall"

// diesWithParent makes the kernel kill the interpreter when the process that started it is killed,
// because a graph with an endless loop would run forever.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
