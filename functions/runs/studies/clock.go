package studies

import "time"

// clock is the bus's time, by which studies end: as far as it is known from the times of entries.
// The bus's time was at least that when they came, and exactly that for an entry that comes as it
// is written, such as a participant's own. So nothing ends too early, and nothing of an active
// participant too late. This machine's own clock may be wrong, and may jump; it only measures
// intervals.
type clock struct{ stored, came time.Time }

func (c *clock) hear(stored time.Time) {
	if now := time.Now(); c.came.IsZero() || stored.After(c.at(now)) {
		*c = clock{stored, now}
	}
}

func (c *clock) at(now time.Time) time.Time {
	if c.came.IsZero() {
		return now
	}
	return c.stored.Add(now.Sub(c.came))
}

// Time is what time it is by the bus's clock, or was not long ago.
func (l *Log) Time() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.at(time.Now())
}
