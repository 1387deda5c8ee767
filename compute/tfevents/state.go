package tfevents

// state is what a Training remembers between steps.
type state struct {
	Step  int64            `json:"step"`
	Files map[string]int64 `json:"files"` // size of each event file by path, at a checkpoint

	Batch mean    `json:"batch"` // losses since the last point
	Epoch mean    `json:"epoch"` // losses of the epoch
	Rate  float64 `json:"rate"`  // as logged last
	Rated bool    `json:"rated"` // whether any was
}

// mean is that of what was added.
type mean struct {
	Sum   float64 `json:"sum"`
	Count int64   `json:"count"`
}

func (m *mean) add(x float64) { m.Sum, m.Count = m.Sum+x, m.Count+1 }

// take is the mean so far, and begins anew.
func (m *mean) take() float64 {
	x := m.Sum / float64(m.Count)
	*m = mean{}
	return x
}
