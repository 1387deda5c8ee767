package doctor

import (
	"context"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/functions/guest/process"
)

// Modules looks at what keeps modules, which are programs of others, apart from each other and from the worker's credentials here.
func Modules() Check {
	return Func("modules", func(context.Context) []Finding {
		return ofModules(guards{
			sandbox: process.CanSandbox(), lacks: process.SandboxLacks(), network: process.CanIsolate(),
			orphans: process.CanTellOrphans(), root: os.Geteuid() == 0,
		})
	})
}

// guards are what there is. A nil error says that it holds.
type guards struct {
	sandbox error    // files that modules read and write
	lacks   []string // of the sandbox
	network error    // modules without one
	orphans bool     // what a module leaves running is found without a cgroup
	root    bool     // this user is root
}

func ofModules(g guards) (found []Finding) {
	switch {
	case g.sandbox != nil:
		found = append(found, Warn("run each worker in a container, with a kernel that has Landlock (Linux 5.19) or a sandbox around it (gVisor)",
			"a module reads what this user can, credentials among it, and can change what other jobs run: %v", g.sandbox))
	case len(g.lacks) > 0:
		found = append(found, Warn("a newer kernel holds modules to that too",
			"modules write to their own folders alone and read no credentials, but %s", strings.Join(g.lacks, "; ")))
	default:
		found = append(found, Fine("they write to their own folders alone, and read no credentials (Landlock)"))
	}
	if !g.orphans {
		found = append(found, Warn("give workers a cgroup to divide: STOKER_CGROUP", "what a module leaves running may outlive its job"))
	}
	if g.network != nil {
		found = append(found, Warn("that is for STOKER_MODULE_NETWORK=none alone", "they can't be run without a network: %s", line(g.network)))
	}
	if g.root {
		found = append(found, Warn("run workers as a user of their own", "they run as root here, whom limits of processes do not hold"))
	}
	return found
}
