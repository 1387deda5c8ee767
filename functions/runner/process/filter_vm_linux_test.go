package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter is executed as the kernels of both architectures would, on any machine. Package bpf's
// machine reads words in network byte order, so they are written in that.
func TestTheFilterRefusesWhatLimitsOthersOnEachArchitecture(t *testing.T) {
	t.Parallel()
	const x32 = 0x40000000
	type numbers struct{ arch, prlimit64, setpriority, ioprioSet, getpid uint32 }
	for name, machine := range map[string]struct {
		goarch string
		numbers
		bit uint32 // a bit that the kernel leaves out of the number
	}{
		"amd64":       {"amd64", numbers{unix.AUDIT_ARCH_X86_64, 302, 141, 251, 39}, 0},
		"x32":         {"amd64", numbers{unix.AUDIT_ARCH_X86_64, 302, 141, 251, 39}, x32},
		"386 on it":   {"amd64", numbers{unix.AUDIT_ARCH_I386, 340, 97, 289, 20}, 0},
		"arm64":       {"arm64", numbers{unix.AUDIT_ARCH_AARCH64, 261, 140, 30, 172}, 0},
		"arm on that": {"arm64", numbers{unix.AUDIT_ARCH_ARM, 369, 97, 314, 20}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filter := machineOf(t, machine.goarch)
			for what, call := range map[string]struct {
				number  uint32
				args    [6]uint64
				refused bool
			}{
				"limit itself":                    {machine.prlimit64, [6]uint64{0, 7, 0x7fff00001000}, false},
				"limit another":                   {machine.prlimit64, [6]uint64{4711, 7, 0x7fff00001000}, true},
				"limit another, address of 4 GiB": {machine.prlimit64, [6]uint64{4711, 7, 1 << 32}, true},
				"read a limit of another":         {machine.prlimit64, [6]uint64{4711, 7, 0, 0x7fff00001000}, false},
				"slow down itself":                {machine.setpriority, [6]uint64{unix.PRIO_PROCESS, 0, 5}, false},
				"slow down another":               {machine.setpriority, [6]uint64{unix.PRIO_PROCESS, 4711, 5}, true},
				"slow down its group":             {machine.setpriority, [6]uint64{unix.PRIO_PGRP, 0, 5}, false},
				"slow down its user":              {machine.setpriority, [6]uint64{unix.PRIO_USER, 0, 5}, true},
				"delay the disk of itself":        {machine.ioprioSet, [6]uint64{1, 0, 4}, false},
				"delay the disk of another":       {machine.ioprioSet, [6]uint64{1, 4711, 4}, true},
				"delay the disk of its user":      {machine.ioprioSet, [6]uint64{3, 0, 4}, true},
				"any other call":                  {machine.getpid, [6]uint64{4711, 4711, 4711}, false},
			} {
				said, err := filter.Run(callData(machine.arch, call.number|machine.bit, call.args))
				want := int(filterAllow)
				if call.refused {
					want = int(filterDeny)
				}
				if err != nil || said != want {
					t.Errorf("%s: %#x, %v, want %#x", what, said, err, want)
				}
			}
		})
	}
}

// A filter refuses nothing for a system call of an architecture that the kernel does not run, or if
// the architecture is not known.
func TestTheFilterKnowsItsArchitecturesAlone(t *testing.T) {
	t.Parallel()
	for goarch, arch := range map[string]uint32{"amd64": unix.AUDIT_ARCH_AARCH64, "arm64": unix.AUDIT_ARCH_X86_64, "riscv64": unix.AUDIT_ARCH_RISCV64} {
		for number := range uint32(500) {
			if said, err := machineOf(t, goarch).Run(callData(arch, number, [6]uint64{4711, 4711, 4711})); err != nil || said != int(filterAllow) {
				t.Fatalf("%s, call %d: %#x, %v", goarch, number, said, err)
			}
		}
	}
}

// machineOf executes the filter of an architecture.
func machineOf(t *testing.T, goarch string) *bpf.VM {
	t.Helper()
	var raw []bpf.RawInstruction
	for _, one := range denialsOf(goarch) {
		raw = append(raw, bpf.RawInstruction{Op: one.Code, Jt: one.Jt, Jf: one.Jf, K: one.K})
	}
	program, known := bpf.Disassemble(raw)
	if !known {
		t.Fatal("an instruction is not known")
	}
	machine, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

// callData returns a struct seccomp_data (seccomp(2)) of a machine whose low halves come first.
func callData(arch, number uint32, args [6]uint64) []byte {
	data := binary.BigEndian.AppendUint32(nil, number)
	data = binary.BigEndian.AppendUint32(data, arch)
	data = append(data, make([]byte, 8)...) // the instruction pointer
	for _, arg := range args {
		data = binary.BigEndian.AppendUint32(data, uint32(arg))
		data = binary.BigEndian.AppendUint32(data, uint32(arg>>32))
	}
	return data
}

// everyThread checks all threads of this process, some of which are new: each has the filter and
// gets no new privileges.
func everyThread(string) error {
	var started, seen sync.WaitGroup
	seen.Add(1)
	for range 8 {
		started.Add(1)
		go func() {
			runtime.LockOSThread()
			started.Done()
			seen.Wait()
		}()
	}
	started.Wait()
	defer seen.Done()
	threads, err := filepath.Glob("/proc/self/task/*/status")
	var without []string
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil || !strings.Contains(string(text), "\nSeccomp:\t2\n") || !strings.Contains(string(text), "\nNoNewPrivs:\t1\n") {
			without = append(without, thread)
		}
	}
	return errors.Join(err, fmt.Errorf("at least 8 threads: %t, without the filter: %v", len(threads) >= 8, without))
}

func TestEveryThreadOfAModuleHasTheFilter(t *testing.T) {
	t.Parallel()
	text, err := tried(supervisorWith(t, nil), "threads")
	if err != nil || text != "at least 8 threads: true, without the filter: []\n" {
		t.Errorf("%q, %v", text, err)
	}
}
