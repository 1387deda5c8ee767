package telemetry

import "time"

// SetClock sets the clock by which tests make an operation overdue.
func SetClock(t *Telemetry, now func() time.Time) { t.loops.now = now }

// Going returns how many operations have begun and not ended.
func Going(t *Telemetry) int {
	t.loops.mu.Lock()
	defer t.loops.mu.Unlock()
	return len(t.loops.going)
}
