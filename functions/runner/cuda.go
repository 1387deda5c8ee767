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
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// CUDAEnv names the environment variable that says where the program is that trains builtin modules on a GPU.
const CUDAEnv = "STOKER_CUDA"

// cudaName is what it is called beside this binary.
const cudaName = "stoker-cuda"

// probeTime bounds the question which GPU there is. The first time, the driver compiles kernels.
const probeTime = time.Minute

// cudaRunner finds the program that trains builtin modules on a GPU, and asks it once, when the first job wants one, which GPU there is.
// A program that links CUDA ends at its start where there is none, so this one must not.
type cudaRunner struct {
	host  *Runner
	gpus  *gpuShares
	asked sync.Once
	path  string // "": modules train on the CPU
	says  string // a line for the log of each job
}

// find is the program, or "" with the reason why there is nothing to start.
func (c *cudaRunner) find() (path, says string) {
	c.asked.Do(func() { c.path, c.says = c.ask() })
	return c.path, c.says
}

// ask does not end with the job that happens to be the first.
func (c *cudaRunner) ask() (path, says string) {
	path = cmp.Or(c.host.opts.CUDA, os.Getenv(CUDAEnv), filepath.Join(filepath.Dir(c.host.opts.Self), cudaName))
	device, err := probe(path, c.env(gpuShare{}))
	if err != nil {
		says = fmt.Sprintf("no GPU, training on the CPU: %v", err)
		c.host.opts.Logger.Warn("builtin modules of class gpu train on the CPU", "error", err)
		return "", says
	}
	c.host.opts.Logger.Info("builtin modules of class gpu train on a GPU", "device", device, "program", path)
	return path, "training on GPU " + device
}

// probe asks for the name of the device.
func probe(path string, env []string) (device string, err error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w (%s names the program for GPUs, else it is %s beside stoker)", err, CUDAEnv, cudaName)
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

// env is what the program gets: the job's share of the GPUs, and a folder in which the driver keeps the kernels that it compiled.
func (c *cudaRunner) env(share gpuShare) []string {
	env := slices.Clone(c.host.env)
	if len(share.devices) > 0 { // the last word for a name counts
		env = append(env, visibleEnv+"="+strings.Join(share.devices, ","))
	}
	if !slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, cacheEnv+"=") }) {
		if cache, err := c.host.cacheDir(); err == nil {
			env = append(env, cacheEnv+"="+filepath.Join(cache, "cuda"))
		}
	}
	return env
}

// cacheEnv is the driver's word for that folder.
const cacheEnv = "CUDA_CACHE_PATH"

// start starts the program with a share of the GPUs.
func (c *cudaRunner) start(path string, share gpuShare) (*child, error) {
	return c.host.start(program{line: []string{path, "module"}, ours: true}, c.env(share))
}

// send is for a builtin module that wants a GPU: a process of its own where there is one, else one of those for all.
func (c *cudaRunner) send(ctx context.Context, e *request) (Outcome, error) {
	path, says := c.find()
	fmt.Fprintln(e.log, says)
	if e.device = module.DeviceGPU; path == "" {
		e.device = module.DeviceCPU
		return c.host.sendWarm(ctx, e)
	}
	share := c.gpus.take()
	defer c.gpus.giveBack(share)
	var err error
	if e.process, err = c.start(path, share); err != nil {
		return Outcome{}, err
	}
	outcome, _, err := e.run(ctx)
	return outcome, err
}
