package chart

import (
	"fmt"
	"math"
	"time"
)

// ticks returns about n round numbers, from below low to above high.
func (s scale) ticks(n int) []float64 {
	if s.log {
		return decades(s.low, s.high)
	}
	return niceTicks(s.low, s.high, n)
}

// niceTicks returns about n round numbers, from below low to above high.
func niceTicks(low, high float64, n int) []float64 {
	if low == high {
		return []float64{low}
	}
	rough := (high - low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= rough {
			step = m * unit
			break
		}
	}
	var ticks []float64
	for i := math.Floor(low / step); i*step < high+step*0.999 && len(ticks) < 4*n; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// decades returns powers of 10 from below low to above high, few enough to be told apart; within
// two decades 2 and 5 times them too.
func decades(low, high float64) (ticks []float64) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	last = max(last, first+1)
	for power := first; power <= last; power += max(1, math.Ceil((last-first)/6)) {
		unit := math.Pow(10, power)
		ticks = append(ticks, unit)
		if last-first <= 2 && power < last {
			ticks = append(ticks, 2*unit, 5*unit)
		}
	}
	for len(ticks) > 2 && ticks[1] <= low {
		ticks = ticks[1:]
	}
	for len(ticks) > 2 && ticks[len(ticks)-2] >= high {
		ticks = ticks[:len(ticks)-1]
	}
	return ticks
}

// stepTicks returns the labeled places on the horizontal axis.
func (c Chart) stepTicks(x scale) (ticks []tick) {
	places := niceTicks(x.low, x.high, 6)
	if c.timed() {
		places = clockTicks(x.low, x.high, 6)
	}
	for _, at := range places {
		if at >= x.low && at <= x.high {
			ticks = append(ticks, tick{at, c.tickText(at, x.high-x.low)})
		}
	}
	return ticks
}

func (c Chart) timed() bool { return c.Axis == "time" || c.Axis == "wall time" }

// clockTicks returns about n times, in seconds, at full seconds, minutes, hours or days.
func clockTicks(low, high float64, n int) []float64 {
	rough := (high - low) / float64(n)
	if rough < 1 {
		return niceTicks(low, high, n)
	}
	const minute, hour, day = 60.0, 3600.0, 86400.0
	step := math.Ceil(rough/day) * day
	for _, one := range []float64{1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour} {
		if one >= rough {
			step = one
			break
		}
	}
	var ticks []float64
	for i := math.Ceil(low / step); i*step <= high && len(ticks) < 4*n; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// tickText formats a place on the horizontal axis, of which so much is shown.
func (c Chart) tickText(at, span float64) string {
	switch {
	case c.Axis == "wall time" && span > 86400:
		return time.Unix(int64(at), 0).UTC().Format("01-02 15:04")
	case c.Axis == "wall time":
		return time.Unix(int64(at), 0).UTC().Format(time.TimeOnly)
	case c.Axis == "time" && (span >= 6 || at >= 60 || at == 0):
		return clock(at)
	case c.Axis == "time":
		return Short(at) + " s"
	}
	return Short(at)
}

// stepText formats a place on the horizontal axis in a sentence.
func (c Chart) stepText(at float64) string { return c.tickText(at, 0) }

// clock formats seconds: 0:05, 12:30, 3:00:00.
func clock(seconds float64) string {
	s := int64(math.Round(seconds))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
