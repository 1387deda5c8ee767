package quality

import (
	"encoding/json"
	"fmt"
	"math"
)

// Run is how far one search came: what it found that was better than all before.
type Run struct {
	Function   string   `json:"function"`
	Seed       int      `json:"seed"`
	Trials     int      `json:"trials"`
	CPUSeconds float64  `json:"cpu_s"` // of suggesting alone; 0: not measured
	Better     []Better `json:"better"`
}

// Better is a value that no earlier trial had reached.
type Better struct {
	Trial int // the first is 1
	Value float64
}

// After is the best of the first so many trials; NaN for none.
func (r Run) After(trials int) float64 {
	best := math.NaN()
	for _, b := range r.Better {
		if b.Trial <= trials {
			best = b.Value
		}
	}
	return best
}

// UnmarshalJSON reads [trial, value].
func (b *Better) UnmarshalJSON(text []byte) error {
	var two []float64
	if err := json.Unmarshal(text, &two); err != nil {
		return err
	}
	if len(two) != 2 {
		return fmt.Errorf("better: %s: expected [trial, value]", text)
	}
	b.Trial, b.Value = int(two[0]), two[1]
	return nil
}
