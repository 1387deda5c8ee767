package doctor

import (
	"context"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Modules checks what keeps modules, which are programs of others, apart from each other and from the worker's credentials on this machine.
func Modules() Check {
	return Func("modules", func(context.Context) []Finding {
		version, _ := os.ReadFile("/proc/version") // on Linux only
		users, err := process.OpenUsers(os.Getenv(process.UserEnv))
		return ofModules(guards{
			users: users.String(), noUsers: err,
			sandbox: process.CanSandbox(), lacks: process.SandboxLacks(), off: os.Getenv(process.SandboxEnv) == "off", network: process.CanIsolate(),
			orphans: process.CanFindOrphans(), root: os.Geteuid() == 0, gvisor: isGVisor(string(version)),
		})
	})
}

// guards are the defenses of a machine. A nil error says that one holds.
type guards struct {
	sandbox error    // files that modules read and write
	lacks   []string // of the sandbox
	off     bool     // the sandbox is switched off by the environment
	network error    // modules without one
	orphans bool     // what a module leaves running is found without a cgroup
	root    bool     // this user is root
	users   string   // that modules have, off: that of their worker
	noUsers error    // why modules can't have the users that the environment asks for
	gvisor  bool     // the kernel is gVisor's
}

// isGVisor reports whether a /proc/version is one of gVisor's. Old releases have a constant one without their name.
func isGVisor(version string) bool {
	return strings.Contains(strings.ToLower(version), "gvisor") || strings.Contains(version, "#1 SMP Sun Jan 10 15:06:54 PST 2016")
}

func ofModules(g guards) (found []Finding) {
	open := "a module reads what this user can, credentials among it, and can change what other jobs run: %v"
	if g.users != usersOff {
		open = "a module reads what all users of this machine can, and writes where all may: %v"
	}
	switch {
	case g.off:
		found = append(found, Warn("unset "+process.SandboxEnv+", or set it to auto", open, process.SandboxEnv+"=off"))
	case g.sandbox != nil:
		found = append(found, Warn("run each worker in a container, with a kernel that has Landlock (Linux 5.19) or a sandbox around it (gVisor)",
			open, g.sandbox))
	case len(g.lacks) > 0:
		found = append(found, Warn("a newer kernel holds modules to that too",
			"modules write to their own folders alone and read no credentials, but %s", strings.Join(g.lacks, "; ")))
	default:
		found = append(found, Fine("they write to their own folders alone, and read no credentials (Landlock)"))
	}
	found = append(found, ofUsers(g))
	if g.gvisor {
		found = append(found, Fine("gVisor is between modules and this machine's kernel: yes"))
	} else {
		found = append(found, Fine("gVisor is between modules and this machine's kernel: unknown, /proc/version does not name it"))
	}
	if !g.orphans {
		found = append(found, Warn("give workers a cgroup to divide: STOKER_CGROUP", "what a module leaves running may outlive its job"))
	}
	if g.network != nil {
		found = append(found, Warn("that is for STOKER_MODULE_NETWORK=none alone", "they can't be run without a network: %s", line(g.network)))
	}
	return found
}

// usersOff is Users.String where there are none.
const usersOff = "off"

// ofUsers says whether the kernel keeps modules from their worker and from each other by their users.
func ofUsers(g guards) Finding {
	switch {
	case g.noUsers != nil:
		return Wrong("unset "+process.UserEnv+", or do what it says", "modules can't have users of their own, and workers do not start: %v", g.noUsers)
	case g.users != usersOff:
		return Fine("each process of a module has a user of its own: %s", g.users)
	case g.root:
		return Warn("run workers as a user of their own, or set "+process.UserEnv+"=on",
			"modules share the user of their worker: yes. That is root, whom limits of processes do not hold")
	}
	return Fine("modules share the user of their worker: yes")
}
