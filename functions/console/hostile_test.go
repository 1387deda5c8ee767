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

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/console/chart"
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
	if n := strings.Count(body, "<figure"); n > chart.MaxCurves {
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
	logs := newLogReader(longLog{bustest.NewMemory(0)}, time.Second, time.Now)
	text, err := logs.end(t.Context(), job{key{Pipeline: "penguin", Run: "monday"}, "j"})
	if err != nil || len(text) > maxTail || text == "" {
		t.Errorf("%d bytes, %v", len(text), err)
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
