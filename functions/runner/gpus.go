package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// visibleEnv is CUDA's word for the devices that a process may use: indices or UUIDs.
const visibleEnv = "CUDA_VISIBLE_DEVICES"

// visibleGPUs are the devices that this process may use, as CUDA_VISIBLE_DEVICES would name them. The driver is not asked: that
// would take it into this process. root is that of the file system.
func visibleGPUs(getenv func(string) (string, bool), root string) []string {
	if text, set := getenv(visibleEnv); set {
		return listedGPUs(text)
	}
	if text, _ := getenv("NVIDIA_VISIBLE_DEVICES"); text == "none" || text == "void" {
		return nil // of the container runtime: it has mounted none
	}
	folders, _ := filepath.Glob(filepath.Join(root, "proc/driver/nvidia/gpus/*")) // the only error is that of a bad pattern
	if len(folders) == 0 {
		folders, _ = filepath.Glob(filepath.Join(root, "dev/nvidia[0-9]*"))
	}
	var indices []string
	for i := range folders {
		indices = append(indices, strconv.Itoa(i))
	}
	return indices
}

// listedGPUs reads CUDA_VISIBLE_DEVICES as CUDA does: what follows an index that is no device's, such as -1, is not visible.
func listedGPUs(text string) (devices []string) {
	for field := range strings.SplitSeq(text, ",") {
		field = strings.TrimSpace(field)
		index, err := strconv.Atoi(field)
		if field == "" || field == "NoDevFiles" || err == nil && index < 0 {
			break
		}
		devices = append(devices, field)
	}
	return devices
}

// shareGPUs deals devices out to slots: each has its own, some one more where they don't come out even. Where there are fewer
// devices than slots, several slots have the same one.
func shareGPUs(devices []string, slots int) [][]string {
	shares := make([][]string, max(slots, 1))
	for slot := range shares {
		if len(devices) < len(shares) {
			if len(devices) > 0 {
				shares[slot] = []string{devices[slot%len(devices)]}
			}
			continue
		}
		first, last := slot*len(devices)/len(shares), (slot+1)*len(devices)/len(shares)
		shares[slot] = devices[first:last]
	}
	return shares
}

// gpuShares hands the shares of a host's devices to its jobs.
type gpuShares struct {
	mu    sync.Mutex
	users []int // of each share
	given [][]string
}

// gpuShare is what one job may use.
type gpuShare struct {
	slot    int
	devices []string
}

func newGPUShares(slots int) *gpuShares {
	return newSharesOf(visibleGPUs(os.LookupEnv, "/"), slots)
}

func newSharesOf(devices []string, slots int) *gpuShares {
	given := shareGPUs(devices, slots)
	return &gpuShares{given: given, users: make([]int, len(given))}
}

// any says whether there is a device at all.
func (g *gpuShares) any() bool { return len(g.given[0]) > 0 }

// take gives the share that the fewest use: one of its own to each job, as long as there are no more of them than slots.
func (g *gpuShares) take() gpuShare {
	g.mu.Lock()
	defer g.mu.Unlock()
	slot := slices.Index(g.users, slices.Min(g.users))
	g.users[slot]++
	return gpuShare{slot: slot, devices: g.given[slot]}
}

func (g *gpuShares) giveBack(share gpuShare) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users[share.slot]--
}

// tell puts the devices into a job's environment, unless it has a word of its own there.
func (s gpuShare) tell(env map[string]string) {
	if _, set := env[visibleEnv]; !set && len(s.devices) > 0 {
		env[visibleEnv] = strings.Join(s.devices, ",")
	}
}
