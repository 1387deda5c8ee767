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
	timelineLeft   = 150.0
	timelineTop    = 8.0
	timelineBottom = 26.0
	laneHeight     = 22.0
	laneGap        = 6.0
	maxLanes       = 24
)

// lane has the trials that one worker, or a job whose worker is not known, ran one after another. A
// worker that runs several at once has several lanes.
type lane struct {
	of    string // worker or job
	label string // "": the lane belongs to the one above
	rows  []int
	first time.Time
	end   time.Time // of its last trial
}

// Timeline draws when each trial ran, with lanes for each worker, at the time now. Colors and
// heights are those of the trials' states. It returns "" if no trial has a time.
func (c *Study) Timeline(now time.Time) string {
	lanes := c.lanes(now)
	if len(lanes) == 0 {
		return ""
	}
	hidden := max(0, len(lanes)-maxLanes)
	lanes = lanes[:len(lanes)-hidden]
	from, to := c.span(now)
	height := timelineHeight(len(lanes))
	label := fmt.Sprintf("When %d trials ran, by worker, over %s", len(c.Report.Trials), to.Sub(from).Round(time.Second))
	p := newPicture("timeline", timelineWidth, height, label)
	a := area{timelineLeft, timelineTop, timelineWidth - 12, height - timelineBottom}
	p.timeAxis(a, to.Sub(from))
	for i, lane := range lanes {
		top := timelineTop + float64(i)*(laneHeight+laneGap)
		if lane.label != "" {
			p.named("end", a.left-8, top+laneHeight/2+4, lane.label, 21)
		}
		c.bars(p, a, lane, top, func(t time.Time) float64 {
			return a.x(float64(t.Sub(from)) / float64(max(1, to.Sub(from))))
		}, to)
	}
	if hidden > 0 {
		p.text("end", a.right, height-timelineBottom-2, fmt.Sprintf("and %d more lanes", hidden))
	}
	return p.done()
}

func timelineHeight(lanes int) float64 {
	return timelineTop + float64(lanes)*(laneHeight+laneGap) + timelineBottom
}

// TimelineHeight returns the height of the timeline, whose width is 1100; 0 if there is none.
func (c *Study) TimelineHeight(now time.Time) int {
	lanes := min(maxLanes, len(c.lanes(now)))
	if lanes == 0 {
		return 0
	}
	return int(timelineHeight(lanes))
}

// maxName bounds the name of a lane, because a worker reports its own.
const maxName = 64

// lanes returns the workers in the order in which they began; if there are too many lanes, those
// with the most trials first.
func (c *Study) lanes(now time.Time) (lanes []lane) {
	rows := make([]int, 0, len(c.Report.Trials))
	for i, row := range c.Report.Trials {
		if !row.Started.IsZero() {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return c.Report.Trials[a].Started.Compare(c.Report.Trials[b].Started) })
	by, order := map[string][]lane{}, []string{}
	for _, i := range rows {
		row := c.Report.Trials[i]
		of, label := "job "+row.Job, ShortDigest(row.Job)
		if row.Worker != "" {
			of, label = row.Worker, cut(row.Worker, maxName)
		}
		if by[of] == nil {
			order = append(order, of)
		}
		by[of] = packed(by[of], lane{of, label, []int{i}, row.Started, endOf(row, now)})
	}
	all := 0
	for _, of := range by {
		all += len(of)
	}
	if all > maxLanes {
		slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(trialsOf(by[b]), trialsOf(by[a])) })
	}
	for _, of := range order {
		for i, one := range by[of] {
			if i > 0 {
				one.label = ""
			}
			lanes = append(lanes, one)
		}
	}
	return lanes
}

// packed adds a trial to the first lane that is free when it begins.
func packed(lanes []lane, trial lane) []lane {
	for i := range lanes {
		if !lanes[i].end.After(trial.first) {
			lanes[i].rows, lanes[i].end = append(lanes[i].rows, trial.rows...), trial.end
			return lanes
		}
	}
	return append(lanes, trial)
}

func trialsOf(lanes []lane) (n int) {
	for _, one := range lanes {
		n += len(one.rows)
	}
	return n
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
