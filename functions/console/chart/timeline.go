package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/report"
)

// The size of a timeline, in its own units, and the number of its lanes.
const (
	timelineWidth  = 1100.0
	timelineTop    = 8.0
	timelineBottom = 26.0
	laneHeight     = 22.0
	laneGap        = 6.0
	maxLanes       = 24
)

// lane has the trials of one job: jobs share a study's trials, and each works on one at a time.
type lane struct {
	job   string
	rows  []int
	first time.Time
}

// Timeline draws when each trial ran, with a lane for each job that worked on the study, at the
// time now. Colors and heights are those of the trials' states. It returns "" if no trial has a
// time.
func (c *Study) Timeline(now time.Time) string {
	lanes := c.lanes()
	if len(lanes) == 0 {
		return ""
	}
	hidden := max(0, len(lanes)-maxLanes)
	lanes = lanes[:len(lanes)-hidden]
	from, to := c.span(now)
	height := timelineHeight(len(lanes))
	label := fmt.Sprintf("When %d trials ran, by %d jobs, over %s", len(c.Report.Trials), len(lanes)+hidden, to.Sub(from).Round(time.Second))
	p := newPicture("timeline", timelineWidth, height, label)
	a := area{74, timelineTop, timelineWidth - 12, height - timelineBottom}
	p.timeAxis(a, to.Sub(from))
	for i, lane := range lanes {
		top := timelineTop + float64(i)*(laneHeight+laneGap)
		p.named("end", a.left-8, top+laneHeight/2+4, ShortDigest(lane.job), 9)
		c.bars(p, a, lane, top, func(t time.Time) float64 {
			return a.x(float64(t.Sub(from)) / float64(max(1, to.Sub(from))))
		}, to)
	}
	if hidden > 0 {
		p.text("end", a.right, height-timelineBottom-2, fmt.Sprintf("and %d more jobs", hidden))
	}
	return p.done()
}

func timelineHeight(lanes int) float64 {
	return timelineTop + float64(lanes)*(laneHeight+laneGap) + timelineBottom
}

// TimelineHeight returns the height of the timeline, whose width is 1100; 0 if there is none.
func (c *Study) TimelineHeight() int {
	lanes := min(maxLanes, len(c.lanes()))
	if lanes == 0 {
		return 0
	}
	return int(timelineHeight(lanes))
}

// lanes returns the jobs in the order in which they began.
func (c *Study) lanes() (lanes []lane) {
	at := map[string]int{}
	for i, row := range c.Report.Trials {
		if row.Started.IsZero() {
			continue
		}
		place, known := at[row.Job]
		if !known {
			place = len(lanes)
			at[row.Job] = place
			lanes = append(lanes, lane{job: row.Job, first: row.Started})
		}
		lanes[place].rows = append(lanes[place].rows, i)
	}
	slices.SortStableFunc(lanes, func(a, b lane) int { return cmp.Compare(len(b.rows), len(a.rows)) })
	if len(lanes) <= maxLanes {
		slices.SortStableFunc(lanes, func(a, b lane) int { return a.first.Compare(b.first) })
	}
	return lanes
}

func (c *Study) span(now time.Time) (from, to time.Time) {
	for _, row := range c.Report.Trials {
		if row.Started.IsZero() {
			continue
		}
		if from.IsZero() || row.Started.Before(from) {
			from = row.Started
		}
		if end := endOf(row, now); end.After(to) {
			to = end
		}
	}
	return from, to
}

// endOf returns when a trial ended; now for one that runs.
func endOf(row report.Row, now time.Time) time.Time {
	switch {
	case row.Ended.IsZero() && now.After(row.Started):
		return now
	case row.Ended.IsZero():
		return row.Started
	}
	return row.Ended
}

// bars draws the trials of a lane: one path for each state. Bars of one state at the same pixel are
// drawn once.
func (c *Study) bars(p *picture, a area, l lane, top float64, x func(time.Time) float64, now time.Time) {
	paths, trials := map[report.State][]byte{}, map[report.State][]string{}
	last := map[report.State]float64{}
	for _, i := range l.rows {
		row := c.Report.Trials[i]
		state := c.Report.State(row)
		left, right := x(row.Started), x(endOf(row, now))
		right = max(left+0.6, right-0.8) // so that bars don't touch
		if before, drawn := last[state]; drawn && right-before < 0.5 && right >= before {
			continue
		}
		last[state] = right
		high, low := barOf(state)
		d := appendSpot(paths[state], 'M', left, top+high*laneHeight)
		paths[state] = fmt.Appendf(d, "H%.1fV%.1fH%.1fz", right, top+low*laneHeight, left)
		trials[state] = append(trials[state], shortTrial(row.Trial))
	}
	states := make([]report.State, 0, len(paths))
	for state := range paths {
		states = append(states, state)
	}
	slices.Sort(states)
	for _, state := range states {
		fmt.Fprintf(p, `<path class="bar %s" data-t="%s" d="%s"/>`, escaped(strings.ReplaceAll(string(state), " ", "-")), escaped(strings.Join(trials[state], ",")), paths[state])
	}
}

// barOf returns where a bar begins and ends in its lane: a state is known by its height too.
func barOf(state report.State) (high, low float64) {
	switch state {
	case report.StateCompleted, report.StateRunning:
		return 0, 1
	case report.StateStopped, report.StateConstrained:
		return 0.25, 1
	case report.StateFailed:
		return 0.6, 1
	}
	return 0.8, 1
}

func (p *picture) timeAxis(a area, whole time.Duration) {
	p.line("axis", a.left, a.bottom, a.right, a.bottom)
	for _, t := range timeTicks(whole) {
		x := a.x(float64(t) / float64(max(1, whole)))
		p.line("grid", x, a.top, x, a.bottom)
		p.text("middle", x, a.bottom+16, tickText(t))
	}
}

// timeTicks returns up to ten round durations.
func timeTicks(whole time.Duration) (ticks []time.Duration) {
	units := []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour}
	step := time.Millisecond
	for _, unit := range units {
		for _, n := range []time.Duration{1, 2, 5, 10, 15, 30, 100, 200, 500} {
			if step = n * unit; whole/step < 10 {
				break
			}
		}
		if whole/step < 10 {
			break
		}
	}
	if whole/step >= 10 { // of years
		step = (whole / (10 * 24 * time.Hour)) * 24 * time.Hour
	}
	for t := time.Duration(0); t <= whole && len(ticks) < 12; t += step {
		ticks = append(ticks, t)
	}
	return ticks
}

func tickText(t time.Duration) string {
	if t == 0 {
		return "0"
	}
	text := func(v float64, unit string) string { return Short(Round(v, 3)) + " " + unit }
	switch {
	case t < time.Second:
		return text(float64(t)/float64(time.Millisecond), "ms")
	case t < time.Minute:
		return text(t.Seconds(), "s")
	case t < time.Hour:
		return text(t.Minutes(), "min")
	case t < 48*time.Hour:
		return text(t.Hours(), "h")
	}
	return text(math.Round(t.Hours()/24), "days")
}
