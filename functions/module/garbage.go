package module

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
)

// smallHeap is the size up to which the heap of a module's process grows before garbage is
// collected. Go's own minimum is 4 MiB, with which a call of milliseconds spends a sixth of its CPU
// on collections, some of them before main begins.
const smallHeap = 64 << 20

// Values of GOGC, in percent.
const (
	usualGC = 100
	lateGC  = usualGC * smallHeap / (4 << 20) // of Go's minimum, this makes smallHeap
)

// LateGC returns the variable with which a process that serves modules is to be started, so that it
// collects garbage late from its beginning; nothing if environ says how garbage is collected.
func LateGC(environ []string) []string {
	if slices.ContainsFunc(environ, func(pair string) bool {
		return strings.HasPrefix(pair, "GOGC=") || strings.HasPrefix(pair, "GOMEMLIMIT=")
	}) {
		return nil
	}
	return []string{"GOGC=" + strconv.Itoa(lateGC)}
}

// collectLater lets a process that was started with LateGC collect garbage as usual once its heap
// is larger than smallHeap.
func collectLater() {
	if os.Getenv("GOGC") == strconv.Itoa(lateGC) {
		setGCPercent(lateGC)
	}
}

// setGCPercent sets when the next collection begins, by what the last one has left, and again after
// that: a cleanup runs after a collection. before is the percentage that is set: to set one stops
// the program for a moment.
func setGCPercent(before int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent, left := usualGC, max(1<<20, live[0].Value.Uint64())
	if left < smallHeap/2 {
		percent = min(lateGC, int(100*(smallHeap-left)/left))
	}
	if percent != before {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([16]byte), setGCPercent, percent)
}
