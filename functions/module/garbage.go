package module

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
)

// smallHeap is the size up to which the heap of a module's process grows before garbage is
// collected. Go's own minimum is 4 MiB, with which a call of milliseconds spends a sixth of its CPU
// on collections, some of them before main begins.
const smallHeap = 64 << 20

// lateGC is the GOGC of a process that collects as collectLater describes: of Go's minimum of 4
// MiB, smallHeap is this percentage.
const lateGC = "1600"

// LateGC returns the variable with which a process that serves modules is to be started, so that it
// collects garbage late from its beginning; nothing if environ says how garbage is collected.
func LateGC(environ []string) []string {
	if slices.ContainsFunc(environ, func(pair string) bool {
		return strings.HasPrefix(pair, "GOGC=") || strings.HasPrefix(pair, "GOMEMLIMIT=")
	}) {
		return nil
	}
	return []string{"GOGC=" + lateGC}
}

// collectLater lets a process that was started with LateGC collect garbage as usual once its heap
// is larger than smallHeap.
func collectLater() {
	if os.Getenv("GOGC") == lateGC {
		setGCPercent(struct{}{})
	}
}

// setGCPercent sets when the next collection begins, by what the last one has left, and again after
// that: a cleanup runs after a collection.
func setGCPercent(struct{}) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	const usual, most = 100, 1600
	percent, left := usual, max(1<<20, live[0].Value.Uint64())
	if left < smallHeap/2 {
		percent = min(most, int(100*(smallHeap-left)/left))
	}
	debug.SetGCPercent(percent)
	runtime.AddCleanup(new([16]byte), setGCPercent, struct{}{})
}
