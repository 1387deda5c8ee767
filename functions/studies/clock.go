package studies

import "time"

// clock is the bus's, by which studies have their time: as far as is known from when entries were stored that have come. The bus's time was
// that at least when they came, and it is that exactly for one that comes as it is written, as a seat's own do. So nothing ends too early,
// and nothing of a seat at work too late. This machine's own clock may be wrong, and may jump; how long ago something was it knows.
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
