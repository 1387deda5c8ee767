package doctor

import (
	"context"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Modules checks the isolation of modules, which are programs of others, from each other and from
// the worker's credentials on this machine.
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

// guards are the isolation mechanisms of a machine. A nil error means that one works.
type guards struct {
	sandbox error    // files that modules read and write
	lacks   []string // of the sandbox
	off     bool     // the environment turns the sandbox off
	network error    // modules without network access
	orphans bool     // processes that a module leaves running are found without a cgroup
	root    bool     // this user is root
	users   string   // of modules, off: that of their worker
	noUsers error    // why modules can't have the users that the environment configures
	gvisor  bool     // the kernel is gVisor's
}

// isGVisor reports whether a /proc/version is one of gVisor's. Old releases have a constant version
// without their name.
func isGVisor(version string) bool {
	return strings.Contains(strings.ToLower(version), "gvisor") || strings.Contains(version, "#1 SMP Sun Jan 10 15:06:54 PST 2016")
}

func ofModules(g guards) (found []Finding) {
	open := "modules can read all files of this user, including credentials, and can change the files of other jobs: %v"
	if g.users != usersOff {
		open = "modules can access all files that every user of this machine can access: %v"
	}
	switch {
	case g.off:
		found = append(found, Warn("unset "+process.SandboxEnv+", or set it to auto", open, process.SandboxEnv+"=off"))
	case g.sandbox != nil:
		found = append(found, Warn("run each worker in a container, with a kernel that has Landlock (Linux 5.19) or a sandbox around it (gVisor)",
			open, g.sandbox))
	case len(g.lacks) > 0:
		found = append(found, Warn("a newer kernel prevents that too",
			"modules write only to their own folders and read no credentials, but %s", strings.Join(g.lacks, "; ")))
	default:
		found = append(found, Fine("they write only to their own folders, and read no credentials (Landlock)"))
	}
	found = append(found, ofUsers(g))
	if g.gvisor {
		found = append(found, Fine("gVisor is between modules and this machine's kernel: yes"))
	} else {
		found = append(found, Fine("gVisor is between modules and this machine's kernel: unknown, /proc/version does not name it"))
	}
	if !g.orphans {
		found = append(found, Warn("give workers a cgroup in which they may create others: STOKER_CGROUP", "processes that a module leaves running may outlive its job"))
	}
	if g.network != nil {
		found = append(found, Warn("only STOKER_MODULE_NETWORK=none needs it", "modules can't run without a network: %s", line(g.network)))
	}
	return found
}

// usersOff is Users.String if there are none.
const usersOff = "off"

// ofUsers reports whether modules have users of their own, so that the kernel isolates them from
// their worker and from each other.
func ofUsers(g guards) Finding {
	switch {
	case g.noUsers != nil:
		return Wrong("unset "+process.UserEnv+", or follow its advice", "modules can't have users of their own, and workers do not start: %v", g.noUsers)
	case g.users != usersOff:
		return Fine("each process of a module has a user of its own: %s", g.users)
	case g.root:
		return Warn("run workers as a user of their own, or set "+process.UserEnv+"=on",
			"modules share the user of their worker: yes. It is root, for whom process limits do not apply")
	}
	return Fine("modules share the user of their worker: yes")
}
