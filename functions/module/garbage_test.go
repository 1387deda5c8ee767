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

var kept []byte // so that allocations are on the heap

// collections returns the number of collections after 16 and after 64 MiB of garbage, and the
// percentage of the heap's growth after that.
func collections() (all []string) {
	for mib := range 65 {
		for range 1 << 10 {
			kept = make([]byte, 1<<10)
		}
		if mib == 16 || mib == 64 {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			all = append(all, strconv.Itoa(min(int(s.NumGC), 1)))
		}
	}
	for range 10 { // cleanups run in a goroutine of the runtime
		runtime.GC()
	}
	return append(all, strconv.Itoa(debug.SetGCPercent(100)))
}

func TestGarbageIsCollectedLater(t *testing.T) {
	t.Parallel()
	for environment, want := range map[string]string{"NONE=": "0 1 100", "GOGC=50": "1 1 50", "GOMEMLIMIT=1GiB": "1 1 100"} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		child := exec.CommandContext(t.Context(), self)
		child.Env = []string{inChild + "=yes", environment}
		found, err := child.Output()
		if err != nil || string(found) != want {
			t.Errorf("%q: %q, %v, want %q", environment, found, err, want)
		}
	}
}
