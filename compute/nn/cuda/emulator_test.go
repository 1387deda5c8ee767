//go:build cuda_kernels

package cuda_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/plan/plantest"
)

func TestTheSourceOfTheKernelsPassesTheSuite(t *testing.T) {
	t.Parallel()
	plantest.Suite(t, openDevice(t, newEmulator(t)))
}

func TestTheEmulatorSeesWhatIsOutOfBounds(t *testing.T) {
	t.Parallel()
	e := newEmulator(t)
	at, err := e.Alloc(40)
	if err != nil {
		t.Fatal(err)
	}
	e.loaded = cuda.Kernels()
	fill := func(n uint64) error {
		return e.Launch(&cuda.Launch{Kernel: cuda.Fill, Grid: cuda.Dim{X: 1, Y: 1, Z: 1}, Block: cuda.Dim{X: 256, Y: 1, Z: 1},
			Args: []cuda.Arg{{Kind: 'p', Bits: uint64(at)}, {Kind: 'i', Bits: n}, {Kind: 'f'}}})
	}
	if err := fill(10); err != nil {
		t.Error(err)
	}
	if err := fill(11); err == nil {
		t.Error("the eleventh of ten numbers was written")
	}
}

// emulator is a Device that runs the kernels' own source, compiled for the CPU with
// AddressSanitizer.
type emulator struct {
	memory []byte
	next   cuda.Pointer
	sizes  map[cuda.Pointer]int64
	loaded []cuda.Kernel

	mu     sync.Mutex
	in     io.Writer
	out    *bufio.Reader
	stderr *strings.Builder
}

const (
	emulatedAt    = 0x500000000000
	emulatedBytes = 256 << 20
)

func newEmulator(t *testing.T) *emulator {
	t.Helper()
	program, memory := filepath.Join(t.TempDir(), "emulator"), filepath.Join(t.TempDir(), "memory")
	build := exec.CommandContext(t.Context(), "g++", "-std=c++17", "-O1", "-w", "-fsanitize=address", "-o", program, "testdata/emulator.cc")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the kernels for the CPU: %v\n%s", err, out)
	}
	file, err := os.Create(memory)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(emulatedBytes); err != nil {
		t.Fatal(err)
	}
	e := &emulator{next: emulatedAt, sizes: map[cuda.Pointer]int64{}, stderr: &strings.Builder{}}
	if e.memory, err = unix.Mmap(int(file.Fd()), 0, emulatedBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	e.start(t, program, memory)
	return e
}

func (e *emulator) start(t *testing.T, program, memory string) {
	t.Helper()
	cmd := exec.Command(program, memory, fmt.Sprint(emulatedAt), fmt.Sprint(emulatedBytes))
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_stack_use_after_return=0:detect_leaks=0")
	cmd.Stderr = e.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.in, e.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it has ended by itself if a test made it fail
		if err := unix.Munmap(e.memory); err != nil {
			t.Error(err)
		}
	})
}

// ask sends a line and waits for its answer.
func (e *emulator) ask(format string, values ...any) (string, error) {
	if _, err := fmt.Fprintf(e.in, format+"\n", values...); err != nil {
		return "", err
	}
	line, err := e.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("emulator: %w: %s", err, e.stderr.String())
	}
	return strings.TrimSpace(line), nil
}

func (e *emulator) send(format string, values ...any) error {
	answer, err := e.ask(format, values...)
	if err == nil && answer != "ok" {
		return errors.New("emulator: " + answer)
	}
	return err
}

func (e *emulator) Name() string                  { return "emulator" }
func (e *emulator) Memory() (int64, int64, error) { return emulatedBytes, emulatedBytes, nil }
func (e *emulator) Multiplier() cuda.Multiplier   { return nil }
func (e *emulator) Sync() error                   { return nil }
func (e *emulator) Close() error                  { return nil }

func (e *emulator) Alloc(n int64) (cuda.Pointer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.next
	e.next += cuda.Pointer((n+255)/256*256 + 256)
	e.sizes[at] = n
	return at, e.send("alloc %d %d", at, n)
}

func (e *emulator) Free(p cuda.Pointer) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.send("free %d %d", p, e.sizes[p])
}

func (e *emulator) AllocHost(n int64) ([]byte, error) { return make([]byte, n), nil }
func (e *emulator) FreeHost([]byte) error             { return nil }

func (e *emulator) Upload(to cuda.Pointer, from []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	copy(e.memory[to-emulatedAt:], from)
	return nil
}

func (e *emulator) Download(to []byte, from cuda.Pointer) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	copy(to, e.memory[from-emulatedAt:])
	return nil
}

func (e *emulator) Load(_ string, kernels []cuda.Kernel) error {
	for _, k := range kernels {
		switch params, err := e.ask("params %s", k.Name); {
		case err != nil:
			return err
		case params != k.Params:
			return fmt.Errorf("kernel %s has parameters %s, the table says %s", k.Name, params, k.Params)
		}
	}
	e.loaded = kernels
	return nil
}

func (e *emulator) Launch(l *cuda.Launch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := fmt.Sprintf("launch %s %d %d %d %d %d", e.loaded[l.Kernel].Name, l.Grid.X, l.Grid.Y, l.Block.X, l.Block.Y, len(l.Args))
	for _, a := range l.Args {
		text += fmt.Sprintf(" %d", a.Bits)
	}
	return e.send("%s", text)
}
