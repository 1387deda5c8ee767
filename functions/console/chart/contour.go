package chart

import (
	"fmt"
	"math"
)

// The size of a contour plot, in its own units, and of the grid on which scores are interpolated.
const (
	contourWidth, contourHeight = 560.0, 400.0
	gridColumns, gridRows       = 44, 32
	// Trials from which scores are interpolated, at most: the best ones and others evenly.
	fieldTrials = 600
	// Weight of a trial's kernel below which nothing is known about a place.
	fieldWeight = 0.05
)

// Contour draws the scores by two parameters: trials as dots, and behind them the score that trials
// nearby let expect, in bands of which the better are stronger. The expected score is the mean of
// the trials' ranks, weighted by a Gaussian kernel (Nadaraya and Watson 1964). It returns "" if no
// trial has both parameters.
func (c *Study) Contour(first, second string) string {
	x, y := c.dimension(first), c.dimension(second)
	if x == nil || y == nil || x == y || len(c.Scores) == 0 {
		return ""
	}
	a := area{64, 12, contourWidth - 16, contourHeight - 46}
	marks := c.scatter(a, x, y)
	if len(marks) == 0 {
		return ""
	}
	p := newPicture("contour", contourWidth, contourHeight, fmt.Sprintf("%s by %s and %s of %d trials; stronger is better", c.Scores[0].Name, first, second, len(marks)))
	c.field(p, a, x, y)
	p.axes(a, x, y, 6, 6)
	for i := range marks {
		marks[i].shade = 0
	}
	for i := range marks {
		if rank, scored := c.ranks[marks[i].trial]; scored {
			marks[i].shade = shades - 1 - shadeOf(rank, len(c.ranks))
		}
	}
	p.marks(marks)
	c.ringBest(p, a, x, y)
	p.named("name middle", (a.left+a.right)/2, contourHeight-6, named(x), 60)
	fmt.Fprintf(p, `<text class="name middle" transform="translate(12 %.1f) rotate(-90)">%s</text>`, (a.top+a.bottom)/2, escaped(cut(named(y), 48)))
	return p.done()
}

func named(d *Dimension) string {
	if d.Log {
		return d.Name + " (log)"
	}
	return d.Name
}

// sample is a trial from which scores are interpolated: its place, and how good it is from 0 to 1.
type sample struct{ x, y, good float64 }

func (c *Study) samples(x, y *Dimension) (list []sample) {
	for rank, i := range c.sorted {
		if !math.IsNaN(x.at[i]) && !math.IsNaN(y.at[i]) {
			list = append(list, sample{x.at[i], y.at[i], 1 - float64(rank)/float64(max(1, len(c.sorted)-1))})
		}
	}
	if len(list) <= fieldTrials {
		return list
	}
	few := list[:0:0]
	for i := range fieldTrials {
		few = append(few, list[i*len(list)/fieldTrials])
	}
	return few
}

// width returns the deviation of the kernel: for n samples of numbers by Scott's rule, for words
// so narrow that columns don't mix.
func (d *Dimension) width(n int) float64 {
	if d.Words != nil {
		return 0.2 / float64(len(d.Words))
	}
	return max(0.03, 0.29*math.Pow(float64(n), -1.0/6)) // 0.29: of values that are spread evenly
}

// field draws the bands in which the expected score is, from the worst to the best.
func (c *Study) field(p *picture, a area, x, y *Dimension) {
	list := c.samples(x, y)
	if len(list) < 6 {
		return
	}
	grid := expected(list, x, y)
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range grid {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if !(high > low) {
		return
	}
	p.WriteString(`<g opacity=".42">`)
	for band := range shades {
		level := low + (high-low)*float64(band)/shades
		if band == 0 {
			level = math.Inf(-1)
		}
		if d := above(grid, level, a); len(d) > 0 {
			fmt.Fprintf(p, `<path class="field s%d" d="%s"/>`, band, d)
		}
	}
	p.WriteString(`</g>`)
}

// expected returns the expected score at the corners of the grid, row by row; NaN where no trial is
// near.
func expected(list []sample, x, y *Dimension) []float64 {
	grid := make([]float64, (gridColumns+1)*(gridRows+1))
	wx, wy := x.width(len(list)), y.width(len(list))
	across := make([]float64, len(list)*(gridColumns+1))
	for column := range gridColumns + 1 {
		for k, s := range list {
			off := (float64(column)/gridColumns - s.x) / wx
			across[column*len(list)+k] = math.Exp(-off * off / 2)
		}
	}
	up := make([]float64, len(list))
	for row := range gridRows + 1 {
		for k, s := range list {
			off := (float64(row)/gridRows - s.y) / wy
			up[k] = math.Exp(-off * off / 2)
		}
		for column := range gridColumns + 1 {
			weights := across[column*len(list) : (column+1)*len(list)]
			var sum, weight float64
			for k, s := range list {
				w := weights[k] * up[k]
				weight += w
				sum += w * s.good
			}
			at := row*(gridColumns+1) + column
			if grid[at] = sum / weight; weight < fieldWeight {
				grid[at] = math.NaN()
			}
		}
	}
	return grid
}

// corner is a corner of the grid, or a point between two.
type corner struct{ x, y, v float64 }

// above returns the outline of the part of the grid in which the score is at least a level. Whole
// cells of one row are joined. A cell with an unknown corner is left out.
func above(grid []float64, level float64, a area) (d []byte) {
	for row := range gridRows {
		from := -1
		for column := range gridColumns + 1 {
			var cell []corner
			if column < gridColumns {
				cell = cellOf(grid, row, column)
			}
			inside := clip(cell, level)
			whole := len(inside) == 4 && minOf(cell) >= level
			if whole && from < 0 {
				from = column
			}
			if !whole && from >= 0 {
				d = appendPolygon(d, a, []corner{{x: float64(from), y: float64(row)}, {x: float64(column), y: float64(row)},
					{x: float64(column), y: float64(row + 1)}, {x: float64(from), y: float64(row + 1)}})
				from = -1
			}
			if !whole && len(inside) > 2 {
				d = appendPolygon(d, a, inside)
			}
		}
	}
	return d
}

func cellOf(grid []float64, row, column int) []corner {
	cell := make([]corner, 0, 4)
	for _, off := range [][2]int{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
		v := grid[(row+off[1])*(gridColumns+1)+column+off[0]]
		if math.IsNaN(v) {
			return nil
		}
		cell = append(cell, corner{float64(column + off[0]), float64(row + off[1]), v})
	}
	return cell
}

func minOf(cell []corner) float64 {
	least := math.Inf(1)
	for _, c := range cell {
		least = min(least, c.v)
	}
	return least
}

// clip returns the part of a polygon in which the score is at least a level (Sutherland and Hodgman
// 1974).
func clip(cell []corner, level float64) (inside []corner) {
	for i, to := range cell {
		from := cell[(i+len(cell)-1)%len(cell)]
		if (from.v >= level) != (to.v >= level) {
			part := (level - from.v) / (to.v - from.v)
			inside = append(inside, corner{from.x + part*(to.x-from.x), from.y + part*(to.y-from.y), level})
		}
		if to.v >= level {
			inside = append(inside, to)
		}
	}
	return inside
}

func appendPolygon(d []byte, a area, polygon []corner) []byte {
	for i, c := range polygon {
		d = append(d, "ML"[min(i, 1)])
		d = appendCoordinate(d, a.x(c.x/gridColumns))
		d = append(d, ' ')
		d = appendCoordinate(d, a.y(c.y/gridRows))
	}
	return append(d, 'z')
}
