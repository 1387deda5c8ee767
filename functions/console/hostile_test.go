package console

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// notDrawable matches a coordinate of a picture that is not a number.
var notDrawable = regexp.MustCompile(`[ML][0-9.]+ [-+]?(NaN|Inf)|="[-+]?(NaN|Inf)`)

var backwards = regexp.MustCompile(`-[0-9.]+ (s|min|h|days|steps/s)`)

// TestHostileMetrics sends a thousand metrics whose names are HTML, whose values are not numbers,
// and whose clock goes back.
func TestHostileMetrics(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.publish(ready("monday"))
	w.sees("/runs", "monday")
	now := time.Now()
	for step := range 30 {
		metrics := map[string]float64{"loss": math.NaN(), "acc": math.Inf(1), "a</div><script>alert(1)</script>": 1, `"]}'onload=x`: float64(step)}
		for i := range 1000 {
			metrics[fmt.Sprintf("metric-%04d", i)] = float64(step * i)
		}
		if step%2 == 0 {
			metrics["loss"] = 1 / float64(step+1)
		}
		w.model.progress(events.Progress{Job: "j", Pipeline: "penguin", Run: "monday", Attempt: "a", Phase: "<b>training", Step: step + 1, Steps: 40, Time: now.Add(-time.Duration(step) * time.Second), Metrics: metrics})
	}
	for _, path := range []string{"/runs", "/run?pipeline=penguin&run=monday", "/compare?run=penguin/monday"} {
		body := w.sees(path, "monday")
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<b>training") || strings.Contains(body, `'onload`) {
			t.Errorf("%s takes a name for HTML", path)
		}
		if drawn := notDrawable.FindString(body); drawn != "" {
			t.Errorf("%s draws what is no number: %s", path, drawn)
		}
		if len(body) > 400<<10 {
			t.Errorf("%s has %d KiB", path, len(body)>>10)
		}
		if backwards.MatchString(body) {
			t.Errorf("%s shows a time that goes back", path)
		}
	}
	body := w.sees("/run?pipeline=penguin&run=monday", "loss by step", "null")
	if n := strings.Count(body, "<figure"); n > maxCurves {
		t.Errorf("%d charts", n)
	}
}

// longLog is a bus on which a job prints a line of ten million bytes.
type longLog struct{ *bustest.Memory }

func (longLog) JobLog(context.Context, string, string, string) iter.Seq2[events.Progress, error] {
	return func(yield func(events.Progress, error) bool) {
		line := strings.Repeat("\x1b[2J<img src=x onerror=alert(1)>", 10<<20/31)
		yield(events.Progress{Attempt: "a", Log: &events.LogPart{Text: line, Bytes: len(line)}}, nil)
	}
}

func TestALineOfTenMillionBytesIsCut(t *testing.T) {
	t.Parallel()
	book := newLogBook(longLog{bustest.NewMemory(0)}, time.Second, time.Now)
	text, err := book.end(t.Context(), job{key{Pipeline: "penguin", Run: "monday"}, "j"})
	if err != nil || len(text) > maxTail || text == "" {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

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
	a := axesOf(study, rows, nil)
	v := a.view(rows)
	if v == nil || len(strings.Split(v.Lines, ";")) != shades || strings.Count(v.X, ",") != 2 {
		t.Fatalf("%+v", v)
	}
	if lines := strings.Fields(strings.ReplaceAll(v.Lines, ";", " ")); len(lines) != len(rows) || !strings.Contains(v.Lines, ",,") {
		t.Errorf("%d lines for %d trials: %s", len(lines), len(rows), v.Lines)
	}
	picture := string(v.Axes) + a.picture(rows)
	if strings.Contains(v.Lines+picture, "NaN") || strings.Contains(picture, "Inf") || strings.Contains(picture, "<adam>") {
		t.Errorf("a value that can't be drawn is: %s", picture)
	}
}

// away is a bus that can't be read for a while.
type away struct {
	*bustest.Memory
	gone chan struct{} // closed when it is back
}

func (a away) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	select {
	case <-a.gone:
		return a.Memory.Read(ctx, q)
	default:
		return func(yield func(events.Recorded, error) bool) {
			yield(events.Recorded{}, errors.New("no responders <i>"))
		}
	}
}

// TestABusThatIsAwayIsReported checks that every page reports it, until the bus is back.
func TestABusThatIsAwayIsReported(t *testing.T) {
	t.Parallel()
	memory, gone := bustest.NewMemory(0), make(chan struct{})
	w := setup(t, func(o *Options) { o.Bus = away{memory, gone} })
	w.sees("/runs", "The bus does not answer", "no responders &lt;i&gt;")
	close(gone)
	w.eventually("it is back", func() bool { _, body := w.get("/runs"); return !strings.Contains(body, "does not answer") })
}
