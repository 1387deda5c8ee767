package pipeline

import "math"

// Skew says how a model in its files is compared with the one that was trained, before it is published.
type Skew struct {
	Check     Switch  `json:"check"`
	Rows      int     `json:"rows"`
	Tolerance float64 `json:"tolerance"`
}

// What a comparison takes where nothing is said; package compute/tf/skew has the reasons.
const (
	skewRows      = 100
	skewTolerance = 1e-5
)

// maxSkewRows keeps a check short, and what it holds in memory small.
const maxSkewRows = 100_000

// long lets `skew: off` stand for `skew: {check: off}`.
func (s *Skew) long(n node) (node, error) {
	switch n.value.(type) {
	case string, bool:
		return node{at: n.at, value: []field{{key: "check", at: n.at, node: n}}}, nil
	}
	return n, nil
}

func (s *Skew) forms() string { return "on, off or a mapping like {rows: 100, tolerance: 1e-5}" }

func (r *report) skew(s Skew) {
	if s.Rows < 1 || s.Rows > maxSkewRows {
		r.add("trainer.skew.rows", "expected 1 to %d, got %d", maxSkewRows, s.Rows)
	}
	if s.Tolerance < 0 || math.IsInf(s.Tolerance, 0) {
		r.add("trainer.skew.tolerance", "expected 0 or more, got %v", s.Tolerance)
	}
}
