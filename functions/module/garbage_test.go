package module

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// inChild makes this test binary a process that collects later.
const inChild = "STOKER_TEST_GARBAGE"

func TestMain(m *testing.M) {
	if os.Getenv(inChild) != "" {
		collectLater()
		_, _ = os.Stdout.WriteString(strings.Join(collections(), " "))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var garbage, kept []byte // so that allocations are on the heap

// collections returns whether there was a collection after 16 MiB of garbage, and after 128; and
// the percentage by which the heap grows until the next one, with 128 MiB in use.
func collections() (all []string) {
	for mib := range 129 {
		for range 1 << 10 {
			garbage = make([]byte, 1<<10)
		}
		if mib == 16 || mib == 128 {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			all = append(all, strconv.FormatBool(s.NumGC > 0))
		}
	}
	kept = make([]byte, 128<<20)
	for range 10 { // cleanups run in a goroutine of the runtime
		runtime.GC()
	}
	percent := debug.SetGCPercent(100)
	kept[0] = 1
	return append(all, strconv.Itoa(percent))
}

func TestGarbageIsCollectedLater(t *testing.T) {
	t.Parallel()
	if own := LateGC([]string{"A=1", "GOMEMLIMIT=1GiB"}); own != nil || LateGC([]string{"GOGC=50"}) != nil {
		t.Errorf("%v has precedence over the environment", own)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]string{LateGC(nil)[0]: "false true 100", "NONE=": "true true 100", "GOGC=50": "true true 50"} {
		child := exec.CommandContext(t.Context(), self)
		child.Env = []string{inChild + "=yes", environment}
		found, err := child.Output()
		if err != nil || string(found) != want {
			t.Errorf("%s: %q, %v, want %q", environment, found, err, want)
		}
	}
}
