package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Step is how far a job is, "" if it does not report that.
func Step(p events.Progress) string {
	switch {
	case p.Steps == 0 && p.Step == 0:
		return ""
	case p.Steps == 0:
		return fmt.Sprintf("step %d ", p.Step)
	}
	return fmt.Sprintf("step %d of %d ", p.Step, p.Steps)
}

// Metrics lists metrics by name.
func Metrics(metrics map[string]float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		all = append(all, fmt.Sprintf("%s %.4g", name, metrics[name]))
	}
	return strings.Join(all, "  ")
}
