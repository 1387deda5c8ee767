package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// The size of the drawing of a Pareto front, in its own units.
const paretoWidth, paretoHeight = 560.0, 360.0

// Pareto draws the trials by two objectives, and the Pareto front as a line. Later trials are
// darker. With more objectives, the front has trials that look worse in these two. It returns "" if
// no trial has both scores.
func (c *Study) Pareto(first, second int) string {
	if first == second || min(first, second) < 0 || max(first, second) >= len(c.Scores) {
		return ""
	}
	x, y := c.Scores[first], c.Scores[second]
	a := area{64, 12, paretoWidth - 16, paretoHeight - 46}
	marks := c.scatter(a, x, y)
	if len(marks) == 0 {
		return ""
	}
	p := newPicture("pareto", paretoWidth, paretoHeight, fmt.Sprintf("%s by %s of %d trials, %d of them in the Pareto front", y.Name, x.Name, len(marks), len(c.Report.Best)))
	p.axes(a, x, y, 6, 5)
	p.marks(marks)
	if len(c.Scores) == 2 {
		c.front(p, a, x, y)
	}
	c.ringBest(p, a, x, y)
	p.named("name middle", (a.left+a.right)/2, paretoHeight-6, fmt.Sprintf("%s (%s)", x.Name, x.Direction), 60)
	fmt.Fprintf(p, `<text class="name middle" transform="translate(12 %.1f) rotate(-90)">%s</text>`, (a.top+a.bottom)/2, escaped(cut(fmt.Sprintf("%s (%s)", y.Name, y.Direction), 44)))
	return p.done()
}

// front draws the steps between the trials of the front: all trials are on one side of them.
func (c *Study) front(p *picture, a area, x, y *Dimension) {
	var spots []corner
	for i, row := range c.Report.Trials {
		if row.Best && !math.IsNaN(x.at[i]) && !math.IsNaN(y.at[i]) {
			spots = append(spots, corner{x: x.at[i], y: y.at[i]})
		}
	}
	if len(spots) < 2 {
		return
	}
	slices.SortFunc(spots, func(a, b corner) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	if x.Direction == tune.Max {
		slices.Reverse(spots)
	}
	d := []byte{}
	for i, s := range spots {
		if i > 0 { // no trial is better in x, then better in y: the corner is worse in both
			d = appendSpot(d, 'L', a.x(s.x), a.y(spots[i-1].y))
		}
		d = appendSpot(d, "ML"[min(i, 1)], a.x(s.x), a.y(s.y))
	}
	fmt.Fprintf(p, `<path class="front" d="%s"/>`, d)
}

func appendSpot(d []byte, pen byte, x, y float64) []byte {
	d = append(d, pen)
	d = appendCoordinate(d, x)
	d = append(d, ' ')
	return appendCoordinate(d, y)
}

// Hypervolume returns the area that the trials so far dominate, by the number of completed trials,
// for two objectives; nil for another number. It is measured from the worst scores of the study,
// and is 1 for a trial that has the best of both.
func (c *Study) Hypervolume() (points []Point) {
	if len(c.Scores) != 2 {
		return nil
	}
	x, y := c.Scores[0], c.Scores[1]
	var front []corner // what is dominated, as corners with ascending x and descending y
	n := 0
	for _, i := range c.ended() {
		if math.IsNaN(x.at[i]) || math.IsNaN(y.at[i]) {
			continue
		}
		n++
		if row := c.Report.Trials[i]; !row.Breaks {
			front = dominating(front, corner{x: goodness(x, i), y: goodness(y, i)})
		}
		points = append(points, Point{Step: float64(n), Value: volume(front)})
	}
	if n < 2 {
		return nil
	}
	return points
}

// goodness returns a score from 0, the worst of the study, to 1.
func goodness(d *Dimension, i int) float64 {
	if d.Direction == tune.Max {
		return d.at[i]
	}
	return 1 - d.at[i]
}

// dominating adds a point to those that none dominates, sorted by x.
func dominating(front []corner, p corner) []corner {
	for _, q := range front {
		if q.x >= p.x && q.y >= p.y {
			return front
		}
	}
	front = slices.DeleteFunc(front, func(q corner) bool { return q.x <= p.x && q.y <= p.y })
	at, _ := slices.BinarySearchFunc(front, p, func(a, b corner) int { return cmp.Compare(a.x, b.x) })
	return slices.Insert(front, at, p)
}

func volume(front []corner) (sum float64) {
	left := 0.0
	for _, p := range front {
		sum += (p.x - left) * p.y
		left = p.x
	}
	return sum
}

// ended returns the rows of trials that have ended, in the order in which they did.
func (c *Study) ended() (list []int) {
	rows := c.Report.Trials
	for i, row := range rows {
		if !row.Ended.IsZero() {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return rows[a].Ended.Compare(rows[b].Ended) })
	return list
}

// Progress returns the score of each completed trial, in the order in which they ended, and the
// best so far.
func (c *Study) Progress() (chart Chart, ok bool) {
	if len(c.Scores) == 0 {
		return chart, false
	}
	scores, best := Series{Part: "score", Dots: true}, Series{Part: "best so far", Color: 1}
	var leader *float64
	for _, i := range c.ended() {
		row := c.Report.Trials[i]
		if row.Score == nil {
			continue
		}
		if !row.Breaks && (leader == nil || c.Direction().Better(*row.Score, *leader)) {
			leader = row.Score
		}
		n := float64(len(scores.Points) + 1)
		scores.Points = append(scores.Points, Point{Step: n, Value: *row.Score})
		if leader != nil {
			best.Points = append(best.Points, Point{Step: n, Value: *leader})
		}
	}
	return Chart{Metric: c.Scores[0].Name, Axis: "completed trials", Lines: []Series{scores, best}}, len(scores.Points) >= 2
}
