package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// settled publishes a model with settings.
func (w *world) settled(run, settings string, accuracy, loss float64) {
	w.t.Helper()
	event := trained(run)
	data := event.Data.(*events.ModelTrained)
	data.Settings, data.Hyperparameters = json.RawMessage(settings), nil
	data.Metrics = map[string]float64{"accuracy": accuracy, "loss": loss}
	w.publish(ready(run), event)
}

// withLog gives a training the run log 1.
func withLog(event events.Event) events.Event {
	event.Data.(*events.ModelTrained).ModelRun = "s3://bkt/penguin/Trainer/model_run/1"
	return event
}

// tags are what a test does not compare.
var tags = regexp.MustCompile(`<[^>]*>`)

func rows(body string) (list []string) {
	_, table, _ := strings.Cut(body, `id="compare-table"`)
	for line := range strings.SplitSeq(table, "<tr>") {
		list = append(list, strings.Join(strings.Fields(tags.ReplaceAllString(line, " ")), " "))
	}
	return list[1:]
}

func TestAComparisonShowsWhatDiffers(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.settled("a", `{"units": 8, "batch_size": 32, "token": "hunter2"}`, 0.9, 0.5)
	w.settled("b", `{"units": 16, "batch_size": 32, "token": "hunter3"}`, 0.8, 0.2)
	w.settled("c", `{"units": 64, "batch_size": 32, "note": "<b>"}`, 0.7, 0.3)
	const page = "/compare?run=penguin/c&run=penguin/a&run=penguin/b&run=penguin/a"
	w.sees("/run?pipeline=penguin&run=c", "trained")
	body := w.sees(page, "units", ">&lt;b&gt;<")
	if strings.Contains(body, "hunter") {
		t.Error("a secret is shown")
	}
	table := rows(body)
	if len(table) != 4 || !strings.HasPrefix(table[0], "Run State accuracy loss note token units") || strings.Contains(table[0], "batch_size") {
		t.Errorf("%q", table)
	}
	if !strings.Contains(table[1], "c ✓ trained 0.7 0.3") || !strings.Contains(table[2], "a ✓ trained 0.9 ★ best 0.5") || !strings.Contains(table[3], "b ✓ trained 0.8 0.2 ★ best") {
		t.Errorf("%q", table)
	}
	if table := rows(w.sees(page+"&all=1", "batch_size")); !strings.Contains(table[0], "batch_size") {
		t.Errorf("%q", table)
	}
	for order, want := range map[string]string{"units": "a b c", "-units": "c b a", "metric:accuracy": "c b a", "-metric:accuracy": "a b c", "metric:loss": "b c a", "nosuch": "c a b"} {
		_, body := w.get(page + "&sort=" + url.QueryEscape(order))
		var names []string
		for _, row := range rows(body)[1:] {
			names = append(names, strings.Fields(row)[0])
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("by %s: %s, want %s", order, got, want)
		}
	}
	if !strings.Contains(body, `href="/compare?run=penguin%2Fc&amp;run=penguin%2Fb"`) {
		t.Error("there is no address without run a")
	}
}

func TestAComparisonIsBounded(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	settings := map[string]int{}
	for i := range 10_000 {
		settings[fmt.Sprintf("key-%05d", i)] = i
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	w.settled("a", string(text), 0.9, 0.5)
	w.settled("b", `{"x": 1}`, 0.9, 0.5)
	w.sees("/run?pipeline=penguin&run=b", "trained")
	page := "/compare?all=1&run=penguin/a&run=penguin/b"
	for i := range 40 {
		page += fmt.Sprintf("&run=penguin/unknown-%d", i)
	}
	status, body := w.get(page)
	if table := rows(body); status != http.StatusOK || len(table) != 21 || strings.Count(body, "<th scope=\"col\" class=\"num") > mostColumns {
		t.Errorf("status %d, %d rows", status, len(table))
	}
	for _, text := range []string{"At most 20 runs", "columns are left out"} {
		if !strings.Contains(body, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	if status, _ := w.get("/compare?run=nothing"); status != http.StatusBadRequest {
		t.Errorf("status %d", status)
	}
}

// Charts of a page have the view of its address, without JavaScript too.
func TestChartsHaveTheViewOfTheAddress(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.logRun("s3://bkt/penguin/Trainer/model_run/1", 0.5)
	w.publish(ready("monday"), withLog(trained("monday")))
	const page = "/run?pipeline=penguin&run=monday"
	plain := w.sees(page, "data-chart", `<option value="log">`, `value="wall"`)
	set := w.sees(page+"&scale=log&smooth=0.6&x=relative&zoom=0~5", `<option value="log" selected>`, `value="0.6"`, `value="relative" selected`, "by time", "faint", `name="run" value="monday"`)
	if strings.Contains(plain, "faint") {
		t.Error("the plain page is smoothed")
	}
	if strings.Contains(set, `type="hidden" name="smooth"`) {
		t.Error("the form has the smoothing twice")
	}
	compared := w.sees("/compare?run=penguin/monday&scale=log", `<option value="log" selected>`, `class="line l0"`, `class="line l0 dashed"`)
	if !strings.Contains(compared, `name="run" value="penguin/monday"`) {
		t.Error("the form loses the runs")
	}
}

func TestAConfusionMatrixIsATable(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.logRun("s3://bkt/penguin/Trainer/model_run/1", 0.5)
	w.shelve("s3://bkt/penguin/Trainer/model_run/1/confusion_matrix.json", `{"classes": ["Adelie", "<b>"], "counts": [[6, 2], [0, 0]]}`)
	w.publish(ready("monday"), withLog(trained("monday")))
	body := w.sees("/run?pipeline=penguin&run=monday", "Confusion matrix", "predicted Adelie", "&lt;b&gt;", "75.0%", "shade8 right", "25.0%")
	if strings.Contains(body, "NaN") {
		t.Error("a class without rows has shares")
	}
	for text, want := range map[string]string{
		`{"counts": [[1]]}`: "", `{"counts": [[1, 2]]}`: "columns", `{"classes": ["a"], "counts": [[1,2],[3,4]]}`: "classes", `{"counts": [[-1]]}`: "count", `{"counts": []}`: "rows",
	} {
		var matrix struct {
			Classes []string
			Counts  [][]float64
		}
		if err := json.Unmarshal([]byte(text), &matrix); err != nil {
			t.Fatal(err)
		}
		if _, err := newConfusion(matrix.Classes, matrix.Counts); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if view, err := newConfusion(nil, make([][]float64, 300)); err != nil || view.Note == "" || len(view.Rows) > 0 {
		t.Errorf("300 classes: %+v, %v", view, err)
	}
}

// A run's page shows at most so many charts, whatever its module logs.
func TestChartsOfARunAreBounded(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.publish(ready("monday"))
	w.dispatched()
	w.eventually("the run is known", func() bool { return len(w.model.snapshot()) == 1 })
	for step := range 3 {
		metrics := map[string]float64{}
		for i := range 10_000 {
			metrics[fmt.Sprintf("m%05d", i)] = float64(step * i)
		}
		w.model.progress(events.Progress{Job: "j", Pipeline: "penguin", Run: "monday", Attempt: "a", Phase: "training", Step: step + 1, Steps: 4, Metrics: metrics})
	}
	if _, body := w.get("/run?pipeline=penguin&run=monday"); strings.Count(body, "<figure") > 24 || strings.Count(body, "<figure") == 0 {
		t.Errorf("%d charts", strings.Count(body, "<figure"))
	}
}
