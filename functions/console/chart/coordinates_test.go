package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// TestAConditionalStudyIsDrawn draws a study whose trials have no value for parameters of the other
// branch.
func TestAConditionalStudyIsDrawn(t *testing.T) {
	t.Parallel()
	rows := []report.Row{}
	for i := range 20 {
		score := float64(i)
		if i == 7 {
			score = math.Inf(1)
		}
		row := report.Row{Trial: fmt.Sprint(i), Score: &score, Values: space.Values{{Name: "optimizer", Of: []string{"sgd", "<adam>"}[i%2]}}}
		if i%2 == 0 {
			row.Values = append(row.Values, space.Value{Name: "momentum", Of: 0.1 * float64(i)})
		}
		rows = append(rows, row)
	}
	study := &tune.Study{Config: tune.Config{
		Space:      space.Space{{Name: "optimizer", Kind: space.Choice, Choices: []any{"sgd", "<adam>"}}, {Name: "momentum", Kind: space.Float, Min: 0, Max: 2}},
		Objectives: []tune.Objective{{Name: "score", Direction: tune.Min}},
	}}
	a := CoordinatesOf(study, rows, nil)
	v := a.View(rows)
	if v == nil || len(strings.Split(v.Lines, ";")) != shades || strings.Count(v.X, ",") != 2 {
		t.Fatalf("%+v", v)
	}
	if lines := strings.Fields(strings.ReplaceAll(v.Lines, ";", " ")); len(lines) != len(rows) || !strings.Contains(v.Lines, ",,") {
		t.Errorf("%d lines for %d trials: %s", len(lines), len(rows), v.Lines)
	}
	picture := string(v.Axes) + a.Picture(rows)
	if strings.Contains(v.Lines+picture, "NaN") || strings.Contains(picture, "Inf") || strings.Contains(picture, "<adam>") {
		t.Errorf("a value that can't be drawn is: %s", picture)
	}
}
