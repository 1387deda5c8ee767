package module

import (
	"os"
	"runtime"
	"runtime/debug"
)

// collectLater makes Go collect no garbage until the heap has 32 MiB, and as usual from then on. A
// call of milliseconds would otherwise spend a quarter of its CPU on it: Go begins at 4 MiB. GOGC
// and GOMEMLIMIT of the environment have precedence.
func collectLater() {
	const eightTimes = 800
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(eightTimes)
	// The cleanup runs after the first collection.
	runtime.AddCleanup(new([16]byte), func(usual int) { debug.SetGCPercent(usual) }, usualGCPercent)
}

// usualGCPercent is Go's default.
const usualGCPercent = 100
