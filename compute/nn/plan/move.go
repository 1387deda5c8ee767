package plan

import "fmt"

// move does what computes nothing: numbers go from one place to another.
func (t *task) move() error {
	switch t.Op {
	case Repeat:
		t.repeat()
	case Concat:
		t.concat()
	case Columns:
		for r := range t.rows {
			copy(t.out[r*t.cols:(r+1)*t.cols], t.x[r*t.xCols+t.Start:])
		}
	case Pad:
		clear(t.out)
		for r := range t.rows {
			copy(t.out[r*t.cols+t.Start:], t.x[r*t.xCols:(r+1)*t.xCols])
		}
	case Transpose:
		t.transpose()
	case Copy:
		t.copy()
	case Fill:
		fill(t.out, t.Value)
	default:
		return fmt.Errorf("%s: there is no operation %d", t.Node, t.Op)
	}
	return nil
}

func fill(to []float32, x float32) {
	for i := range to {
		to[i] = x
	}
}

func (t *task) repeat() {
	switch {
	case len(t.x) == 1:
		fill(t.out, t.x[0])
	case t.xRows == 1:
		for r := range t.rows {
			copy(t.out[r*t.cols:], t.x)
		}
	default:
		for r := range t.rows {
			fill(t.out[r*t.cols:(r+1)*t.cols], t.x[r])
		}
	}
}

func (t *task) concat() {
	at := 0
	for i, in := range t.in {
		w := t.widths[i]
		for r := range t.rows {
			copy(t.out[r*t.cols+at:], in.Floats[r*w:(r+1)*w])
		}
		at += w
	}
}

func (t *task) transpose() {
	for r := range t.rows {
		row := t.out[r*t.cols : (r+1)*t.cols]
		for c := range row {
			row[c] = t.x[c*t.rows+r]
		}
	}
}

func (t *task) copy() {
	if !t.Add {
		copy(t.out, t.x)
		return
	}
	for i, x := range t.x {
		t.out[i] += x
	}
}
