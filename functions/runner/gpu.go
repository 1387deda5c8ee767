package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// CUDAEnv names the environment variable with the path of the program that trains builtin modules
// on a GPU.
const CUDAEnv = "STOKER_CUDA"

// cudaName is the program's name next to this binary.
const cudaName = "stoker-cuda"

// probeTime limits the probe for a GPU. The first time, the driver compiles kernels.
const probeTime = time.Minute

// cudaRunner finds the program that trains builtin modules on a GPU, and probes once for a GPU,
// when the first job asks for one. A program that links CUDA exits at its start if there is no GPU,
// so this binary must not link it.
type cudaRunner struct {
	r     *Runner
	gpus  *gpuShares
	asked sync.Once
	path  string // "": modules train on the CPU
	says  string // a line for the log of each job

	device string // the GPU's name; "" if modules train on the CPU
}

// find returns the program and a line for the job's log. The path is "" if modules train on the
// CPU; the line says why.
func (c *cudaRunner) find() (path, says string) {
	c.asked.Do(func() { c.path, c.says = c.ask() })
	return c.path, c.says
}

// ask does not depend on the context of the job that happens to be the first.
func (c *cudaRunner) ask() (path, says string) {
	path = cmp.Or(c.r.opts.CUDA, os.Getenv(CUDAEnv), filepath.Join(filepath.Dir(c.r.opts.Self), cudaName))
	device, err := probe(path, c.env(gpuShare{}))
	if err != nil {
		says = fmt.Sprintf("no GPU, training on the CPU: %v", err)
		c.r.opts.Logger.Warn("builtin modules of class gpu train on the CPU", "error", err)
		return "", says
	}
	c.device = device
	c.r.opts.Logger.Info("builtin modules of class gpu train on a GPU", "device", device, "program", path)
	return path, "training on GPU " + device
}

// probe returns the name of the GPU.
func probe(path string, env []string) (device string, err error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w (%s names the program for GPUs, else it is %s next to stoker)", err, CUDAEnv, cudaName)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "probe")
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &out, &errs, time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s probe: %w: %s", path, cmp.Or(context.Cause(ctx), err), cmp.Or(lastLine(errs.String()), lastLine(out.String())))
	}
	var found struct {
		Device string `json:"device"`
	}
	if err := json.Unmarshal([]byte(lastLine(out.String())), &found); err != nil || found.Device == "" {
		return "", fmt.Errorf("%s probe: expected a line of JSON that names a device, got %q", path, lastLine(out.String()))
	}
	return found.Device, nil
}

// env returns the program's environment: the job's share of the GPUs, and a directory where the
// driver keeps compiled kernels.
func (c *cudaRunner) env(share gpuShare) []string {
	env := slices.Clone(c.r.env)
	if len(share.devices) > 0 { // the last value of a name counts
		env = append(env, visibleEnv+"="+strings.Join(share.devices, ","))
	}
	if !slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, cacheEnv+"=") }) {
		if cache, err := c.r.cacheDir(); err == nil {
			env = append(env, cacheEnv+"="+filepath.Join(cache, "cuda"))
		}
	}
	return env
}

// cacheEnv names the driver's variable for that directory.
const cacheEnv = "CUDA_CACHE_PATH"

// start starts the program with a share of the GPUs.
func (c *cudaRunner) start(path string, share gpuShare) (*child, error) {
	return c.r.start(program{line: []string{path, "module"}, ours: true}, c.env(share))
}

// visibleEnv names CUDA's variable for the devices that a process may use: indices or UUIDs.
const visibleEnv = "CUDA_VISIBLE_DEVICES"

// visibleGPUs returns the devices that this process may use, as CUDA_VISIBLE_DEVICES names them. It
// does not ask the driver, which would be loaded into this process. root is the root of the file
// system.
func visibleGPUs(getenv func(string) (string, bool), root string) []string {
	if text, set := getenv(visibleEnv); set {
		return listedGPUs(text)
	}
	if text, _ := getenv("NVIDIA_VISIBLE_DEVICES"); text == "none" || text == "void" {
		return nil // a value of the container runtime: it has mounted none
	}
	// the only error is that of a bad pattern
	folders, _ := filepath.Glob(filepath.Join(root, "proc/driver/nvidia/gpus/*"))
	if len(folders) == 0 {
		folders, _ = filepath.Glob(filepath.Join(root, "dev/nvidia[0-9]*"))
	}
	var indices []string
	for i := range folders {
		indices = append(indices, strconv.Itoa(i))
	}
	return indices
}

// listedGPUs parses CUDA_VISIBLE_DEVICES as CUDA does: devices after an invalid index, such as -1,
// are not visible.
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

// shareGPUs divides devices among slots: each has its own, and some one more if the numbers don't
// divide. With fewer devices than slots, several slots share a device.
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

// gpuShares assigns shares of a runner's devices to its jobs.
type gpuShares struct {
	mu    sync.Mutex
	users []int // of each share
	given [][]string
}

// gpuShare is the set of devices that one job may use.
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

// GPUs returns the devices that jobs may use, as the driver's variables name them.
func (r *Runner) GPUs() (all []string) {
	for _, share := range r.python.gpus.given {
		for _, device := range share {
			if !slices.Contains(all, device) {
				all = append(all, device)
			}
		}
	}
	return all
}

// any reports whether there is a device.
func (g *gpuShares) any() bool { return len(g.given[0]) > 0 }

// take returns the share that the fewest jobs use: each job has its own if there are no more jobs
// than slots.
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

// set sets the devices in a job's environment, unless that sets them itself.
func (s gpuShare) set(env map[string]string) {
	if _, set := env[visibleEnv]; !set && len(s.devices) > 0 {
		env[visibleEnv] = strings.Join(s.devices, ",")
	}
}

// GPU asks the program that trains builtin modules on a GPU for the name of the GPU. If the program
// isn't installed, the error is fs.ErrNotExist.
func GPU() (device string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return probe(cmp.Or(os.Getenv(CUDAEnv), filepath.Join(filepath.Dir(self), cudaName)), os.Environ())
}
