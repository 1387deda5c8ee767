package console

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

var (
	rowRE  = regexp.MustCompile(`<tr data-run="penguin/([^"]*)"`)
	nextRE = regexp.MustCompile(`href="([^"]*)" rel="(next|prev)"`)
)

// rowsOf returns the runs that a list shows.
func rowsOf(body string) (runs []string) {
	for _, match := range rowRE.FindAllStringSubmatch(body, -1) {
		runs = append(runs, match[1])
	}
	return runs
}

// listed publishes runs with metrics that are known, and waits for them.
func (w *world) listed(from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		event := trained(fmt.Sprintf("run-%03d", i))
		data := event.Data.(*events.ModelTrained)
		data.Metrics = map[string]float64{"accuracy": float64(i%50) / 50, "loss": float64(i)}
		data.Hyperparameters = map[string]any{"units": 16 << (i % 3), "api_token": "hunter2"}
		w.publish(event)
	}
	w.eventually("the runs are known", func() bool { return len(w.model.snapshot()) >= to })
}

func TestRunsAreFilteredAndSortedByTheAddress(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.listed(0, 60)
	w.publish(failed("broken", "out of memory"))
	w.sees("/runs?q=broken", "out of memory")
	_, body := w.get("/runs?q=accuracy+%3E%3D+0.9+units%3D16&sort=metric.loss&columns=metric.loss&columns=param.units&columns=param.api_token")
	if got, want := strings.Join(rowsOf(body), " "), "run-045 run-048"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, want := range []string{`class="num" aria-sort="ascending"`, `data-label="units">16<`, `data-label="loss">45.0000<`, `sort=-metric.loss`, "••••••"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(body, "hunter2") || strings.Contains(body, `data-label="Took"`) {
		t.Error("the page shows a secret, or a column that was not chosen")
	}
	_, body = w.get("/runs?state=failed&pipeline=penguin")
	if got := rowsOf(body); !slices.Equal(got, []string{"broken"}) || !strings.Contains(body, `value="pipeline=penguin state=failed"`) {
		t.Errorf("links of other pages select %q", got)
	}
}

func TestABadFilterIsShownWithItsPlace(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.listed(0, 3)
	_, body := w.get("/runs?q=" + url.QueryEscape("state=trained accurcy<i>>0.9"))
	for _, want := range []string{`state=trained <mark>accurcy</mark>&lt;i&gt;&gt;0.9</code>`, "did you mean accuracy?", `aria-describedby="fault"`, "Nothing is listed"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if got := rowsOf(body); len(got) > 0 {
		t.Errorf("it lists %q", got)
	}
	for _, path := range []string{"/runs?sort=nothing", "/runs?cursor=x", "/runs?cursor=bW10&sort=run"} {
		if status, _ := w.get(path); status != http.StatusBadRequest {
			t.Errorf("%s is answered with %d", path, status)
		}
	}
	long := strings.Repeat("x", 4000)
	if status, body := w.get("/runs?q=" + long + "&columns=" + long); status != http.StatusOK || !strings.Contains(body, "at most 1000 are read") {
		t.Errorf("a long filter is answered with %d", status)
	}
}

func TestPagesOfRunsStayWhileRunsArrive(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.listed(0, 120)
	seen := map[string]int{}
	for path, pages := "/runs", 0; ; pages++ {
		_, body := w.get(path)
		for _, run := range rowsOf(body) {
			seen[run]++
		}
		path = ""
		for _, link := range nextRE.FindAllStringSubmatch(body, -1) {
			if link[2] == "next" {
				path = html.UnescapeString(link[1])
			}
		}
		if path == "" || pages > 5 {
			break
		}
		w.listed(120+10*pages, 130+10*pages)
	}
	for i := range 120 {
		if name := fmt.Sprintf("run-%03d", i); seen[name] != 1 {
			t.Errorf("%s was on %d pages", name, seen[name])
		}
	}
}
