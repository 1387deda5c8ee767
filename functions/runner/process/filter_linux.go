package process

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// limitCalls are the numbers of the system calls that limit other processes, on one architecture of system calls.
type limitCalls struct{ arch, prlimit64, setpriority, ioprioSet uint32 }

// limitCallsOf are those of an architecture and of the one whose programs its kernel runs, too (linux/audit.h, the tables of system calls).
func limitCallsOf(goarch string) []limitCalls {
	switch goarch {
	case "amd64":
		return []limitCalls{{unix.AUDIT_ARCH_X86_64, 302, 141, 251}, {unix.AUDIT_ARCH_I386, 340, 97, 289}}
	case "arm64":
		return []limitCalls{{unix.AUDIT_ARCH_AARCH64, 261, 140, 30}, {unix.AUDIT_ARCH_ARM, 369, 97, 314}}
	}
	return nil
}

// What a filter says of a call (seccomp(2)).
const (
	filterAllow = 0x7fff0000                      // SECCOMP_RET_ALLOW
	filterDeny  = 0x00050000 | uint32(unix.EPERM) // SECCOMP_RET_ERRNO
	loadWord    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	returnK     = unix.BPF_RET | unix.BPF_K
	offsetNr    = 0
	offsetArch  = 4
	offsetArgs  = 16 // of 8 bytes each, the low half first on these architectures
)

// denials is a filter of system calls that refuses to set limits (prlimit64), the priority (setpriority) and the I/O priority (ioprio_set) of
// any process but the calling one, and lets all others pass. Processes of one user may set these of each other, and Landlock does not
// restrict that. A process that names itself by its number is refused, too. On other architectures it lets every call pass.
func denials() []unix.SockFilter { return denialsOf(runtime.GOARCH) }

// denialsOf is denials on an architecture.
func denialsOf(goarch string) (program []unix.SockFilter) {
	calls := limitCallsOf(goarch)
	if len(calls) > 0 {
		program = append(program, unix.SockFilter{Code: loadWord, K: offsetArch})
	}
	for _, call := range calls {
		const x32 = 0x40000000 // __X32_SYSCALL_BIT: the same numbers
		body := slices.Concat(
			[]unix.SockFilter{{Code: loadWord, K: offsetNr}, {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: ^uint32(x32)}},
			ofOthers(call.prlimit64, []unix.SockFilter{
				{Code: loadWord, K: offsetArgs},       // the process
				{Code: ifEqual, K: 0, Jt: 4},          // itself: allow
				{Code: loadWord, K: offsetArgs + 2*8}, // a pointer to new limits
				{Code: ifEqual, K: 0, Jf: 3},          // some: deny
				{Code: loadWord, K: offsetArgs + 2*8 + 4},
				{Code: ifEqual, K: 0, Jf: 1},
			}),
			ofOthers(call.setpriority, ofUserOrOther(unix.PRIO_USER)),
			ofOthers(call.ioprioSet, ofUserOrOther(3)), // IOPRIO_WHO_USER
			[]unix.SockFilter{{Code: returnK, K: filterAllow}},
		)
		program = append(program, unix.SockFilter{Code: ifEqual, K: call.arch, Jf: uint8(len(body))})
		program = append(program, body...)
	}
	return append(program, unix.SockFilter{Code: returnK, K: filterAllow})
}

// ofOthers answers a call, whose number is loaded, by a test that ends before an answer that allows and one that denies.
func ofOthers(call uint32, test []unix.SockFilter) []unix.SockFilter {
	return slices.Concat(
		[]unix.SockFilter{{Code: ifEqual, K: call, Jf: uint8(len(test) + 2)}}, test,
		[]unix.SockFilter{{Code: returnK, K: filterAllow}, {Code: returnK, K: filterDeny}})
}

// ofUserOrOther tests a call that is told of what kind its target is, a process or all of a user, and then which one; 0 is the caller's own.
func ofUserOrOther(user uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: loadWord, K: offsetArgs + 8},
		{Code: ifEqual, K: 0, Jf: 3}, // another one: deny
		{Code: loadWord, K: offsetArgs},
		{Code: ifEqual, K: user, Jt: 1},
	}
}
