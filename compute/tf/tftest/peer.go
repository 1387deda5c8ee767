package tftest

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

//go:embed peer.py
var peerScript string

// Peer is a process of the real TensorFlow to measure against. Unlike Run, it keeps the variables
// of a script from call to call. It must be used by one goroutine at a time.
type Peer struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Reader
}

// WithPeer starts TensorFlow, with so many threads for one operation and for parallel operations,
// and ends it after use. env is name=value pairs in addition to this process's own. The first call
// on a machine installs TensorFlow, which takes minutes.
func WithPeer(ctx context.Context, threads int, log io.Writer, use func(*Peer) error, env ...string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p, err := startPeer(ctx, threads, log, env...)
	if err != nil {
		return err
	}
	return errors.Join(use(p), p.stdin.Close(), p.cmd.Wait())
}

func startPeer(ctx context.Context, threads int, log io.Writer, env ...string) (*Peer, error) {
	python, err := installed()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", peerScript, strconv.Itoa(threads))
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=3", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start TensorFlow: %w", err)
	}
	return &Peer{cmd: cmd, stdin: stdin, answers: bufio.NewReader(stdout)}, nil
}

// Call calls a function of a Python script with in, and decodes what it returns into out. cpu is
// the CPU time of the call in seconds. A script is run once.
func (p *Peer) Call(script, function string, in, out any) (cpu float64, err error) {
	request, err := json.Marshal(map[string]any{"script": script, "function": function, "in": in})
	if err != nil {
		return 0, err
	}
	if _, err := p.stdin.Write(append(request, '\n')); err != nil {
		return 0, fmt.Errorf("call %s in TensorFlow: %w", function, err)
	}
	line, err := p.answers.ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("call %s in TensorFlow: its process ended: %w", function, err)
	}
	answer := struct {
		Out   json.RawMessage
		CPU   float64
		Error string
	}{}
	if err := json.Unmarshal(line, &answer); err != nil {
		return 0, fmt.Errorf("decode answer of TensorFlow: %w", err)
	}
	if answer.Error != "" {
		return 0, fmt.Errorf("call %s in TensorFlow: %s", function, answer.Error)
	}
	return answer.CPU, json.Unmarshal(answer.Out, out)
}

// peers are the processes that the benchmarks of a test binary share, by their threads. They end
// with the test binary, as their stdin does.
var peers = map[int]func() (*Peer, error){1: sharedPeer(1), 2: sharedPeer(2)}

func sharedPeer(threads int) func() (*Peer, error) {
	return sync.OnceValues(func() (*Peer, error) { return startPeer(context.Background(), threads, terminal()) })
}

// BenchmarkPeer is the process with 1 or 2 threads that a test binary's benchmarks share. As with
// Python, the benchmark is skipped unless the real TensorFlow was requested.
func BenchmarkPeer(b *testing.B, threads int) *Peer {
	b.Helper()
	needLive(b)
	p, err := peers[threads]()
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// CPUSeconds returns the CPU time that this process has used, including that of the garbage
// collector.
func CPUSeconds(tb testing.TB) float64 {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
