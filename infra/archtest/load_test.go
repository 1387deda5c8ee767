package archtest_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// load starts infra/tools/load.sh and returns the ids of its busy processes.
func load(t *testing.T, seconds, command string) (*exec.Cmd, []int) {
	t.Helper()
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip("needs the command timeout, which Debian's coreutils have")
	}
	const script = "../tools/load.sh"
	// The go command runs a cached test again if this file has changed.
	if _, err := os.ReadFile(script); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", script, "3", seconds, "sh", "-c", "echo $LOAD_PROCESSES; "+command)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var busy []int
	for _, word := range strings.Fields(line) {
		id, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		busy = append(busy, id)
	}
	if len(busy) != 3 {
		t.Fatalf("%d busy processes: %q", len(busy), line)
	}
	return cmd, busy
}

// wantGone waits until none of the processes is left.
func wantGone(t *testing.T, processes []int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for _, id := range processes {
		for syscall.Kill(id, 0) == nil {
			if time.Now().After(deadline) {
				t.Fatalf("busy process %d is left", id)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Busy processes that outlive their command would slow down everything else on a machine.
func TestALoadEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seconds, command string
		signal           bool
		want             int
	}{
		"it ends":      {"60", "exit 3", false, 3},
		"out of time":  {"1", "exec sleep 600", false, 124},
		"it is killed": {"60", "exec sleep 600", true, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, busy := load(t, c.seconds, c.command)
			if c.signal {
				for _, id := range busy {
					if err := syscall.Kill(id, 0); err != nil {
						t.Errorf("busy process %d: %v", id, err)
					}
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
			wantGone(t, busy)
		})
	}
}
