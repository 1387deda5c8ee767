package cuda

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// GPU is a Device with our kernels, and with the share of its memory that a job may use. Memory is
// allocated when a Machine is created or first needs it, never in advance. It may be used by
// several goroutines at once. Its machines must be closed before it.
type GPU struct {
	device Device
	limit  int64

	mu     sync.Mutex
	used   int64
	blocks map[Pointer]int64 // sizes
}

// EnvMemory is the environment variable that limits the memory of a GPU which a process may use, in
// bytes or with a unit: 8GiB.
const EnvMemory = "STOKER_GPU_MEMORY"

// Open loads the kernels onto a device. limit is in bytes; 0 is all that the device has. The GPU
// owns the device from then on.
func Open(d Device, limit int64) (*GPU, error) {
	if err := d.Load(ptx, Kernels()); err != nil {
		return nil, errors.Join(fmt.Errorf("load the kernels onto %s: %w", d.Name(), err), d.Close())
	}
	return &GPU{device: d, limit: limit, blocks: map[Pointer]int64{}}, nil
}

// Name returns the device's name.
func (g *GPU) Name() string { return g.device.Name() }

// Used returns how many bytes of the device's memory are allocated now.
func (g *GPU) Used() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used
}

// Close closes the device.
func (g *GPU) Close() error { return g.device.Close() }

// Machine makes a Machine for a plan.
func (g *GPU) Machine(p *plan.Plan) (plan.Machine, error) {
	m, err := newMachine(g, p)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// MemoryError reports that something needs more of a GPU's memory than it may use. Sizes are in
// bytes.
type MemoryError struct {
	What        string // it is for
	Need, Used  int64
	Limit, Free int64 // of the job, 0 for none; of the device, -1 if it wasn't asked
	Cause       error // the device's error
}

func (e *MemoryError) Error() string {
	text := fmt.Sprintf("GPU memory: %s needs %s, this job uses %s", e.What, size(e.Need), size(e.Used))
	if e.Free >= 0 {
		text += fmt.Sprintf(", the device has %s free", size(e.Free))
	}
	if e.Limit > 0 {
		text += fmt.Sprintf(", and the limit is %s (%s)", size(e.Limit), EnvMemory)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *MemoryError) Unwrap() error { return e.Cause }

// alloc allocates memory for what is named. 0 bytes become 4, so that each has an address.
func (g *GPU) alloc(what string, bytes int64) (Pointer, error) {
	bytes = max(bytes, 4)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit > 0 && g.used+bytes > g.limit {
		return 0, &MemoryError{What: what, Need: bytes, Used: g.used, Limit: g.limit, Free: -1}
	}
	at, err := g.device.Alloc(bytes)
	if err != nil {
		free, _, failed := g.device.Memory()
		if failed != nil {
			free = -1
		}
		return 0, &MemoryError{What: what, Need: bytes, Used: g.used, Limit: g.limit, Free: free, Cause: err}
	}
	g.used += bytes
	g.blocks[at] = bytes
	return at, nil
}

func (g *GPU) free(at Pointer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used -= g.blocks[at]
	delete(g.blocks, at)
	return g.device.Free(at)
}

// size formats a number of bytes.
func size(bytes int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	n, unit := float64(bytes), 0
	for n >= 1024 && unit+1 < len(units) {
		n, unit = n/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[unit])
}

// MemoryLimit parses the value of EnvMemory: bytes, or a number followed by KiB, MiB, GiB or TiB;
// "" is no limit.
func MemoryLimit(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, unit := text, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, found := strings.CutSuffix(text, suffix); found {
			number, unit = strings.TrimSpace(rest), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%s=%s: expected a number of bytes, alone or with KiB, MiB, GiB or TiB behind it", EnvMemory, text)
	}
	return n * unit, nil
}
