package console

import (
	"encoding/csv"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/console/chart"
)

// What a study's drawings are made of can be had as tables, without secrets.
func TestTheTablesOfAStudyAreServed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	study := "/study/data.csv?pipeline=penguin&id=" + w.search(40)
	w.sees(strings.Replace(study, "/data.csv", "", 1), "39 completed of 40")
	for of, want := range map[string]struct {
		head string
		rows int
	}{
		"trials":     {"trial,status,best,score,step", 40},
		"steps":      {"trial,metric,step,value", 39},
		"importance": {"parameter,share_of_variance,explained_alone,trials", 7},
	} {
		status, body, header := w.ask(http.MethodGet, study+"&of="+of, nil)
		if status != http.StatusOK || header.Get("Content-Disposition") != `attachment; filename="`+of+`.csv"` || !strings.HasPrefix(body, want.head) {
			t.Errorf("%s: %d, %v:\n%s", of, status, header, body)
		}
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || len(rows) <= want.rows {
			t.Errorf("%s has %d rows, want more than %d: %v", of, len(rows), want.rows, err)
		}
		if strings.Contains(body, "hunter2") {
			t.Errorf("%s has a secret:\n%s", of, body)
		}
		_, tabs := w.get(study + "&as=tabs&of=" + of)
		if !strings.HasPrefix(tabs, strings.ReplaceAll(want.head, ",", "\t")) {
			t.Errorf("%s with tabs:\n%s", of, tabs)
		}
	}
	if status, body := w.get(study + "&of=nothing"); status != http.StatusNotFound || !strings.Contains(body, "expected trials, steps or importance") {
		t.Errorf("%d:\n%s", status, body)
	}
}

// Every drawing of a study has its menu of files, whose links lead somewhere.
func TestEveryDrawingOfAStudyCanBeSaved(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for study, labels := range map[string][]string{
		w.search(40):   {"importance", "score by parameter", "contour", "parallel coordinates", "intermediate values", "timeline"},
		w.tradeOff(20): {"Pareto front", "importance", "timeline"},
	} {
		body := w.sees("/study?pipeline=penguin&id="+study, "Timeline")
		for _, label := range labels {
			if !strings.Contains(body, `aria-label="Save `+label+`"`) {
				t.Errorf("%s has no menu of files", label)
			}
		}
		links := regexp.MustCompile(`(?:href|data-png|data-copy)="(/study/(?:data.csv|picture.svg)[^"]*)"`).FindAllStringSubmatch(body, -1)
		if len(links) < 3*len(labels) {
			t.Errorf("%d links to files", len(links))
		}
		for _, link := range links {
			if status, text := w.get(strings.ReplaceAll(link[1], "&amp;", "&")); status != http.StatusOK || text == "" {
				t.Errorf("%s: %d", link[1], status)
			}
		}
	}
}

// A page of a large study has no more in it than one of a small study: what the script draws has
// addresses.
func TestTheDataOfDrawingsIsServed(t *testing.T) {
	t.Parallel()
	sizes := map[int]int{}
	for _, trials := range []int{250, 500} {
		w := setup(t, nil)
		study := "pipeline=penguin&id=" + w.search(trials)
		body := w.sees("/study?"+study, "Parallel coordinates", "Best so far")
		sizes[trials] = len(body)
		addresses := regexp.MustCompile(`data-(?:lines|chart)="(/study/drawing[^"]*)"`).FindAllStringSubmatch(body, -1)
		if len(addresses) != 2 {
			t.Fatalf("%v", addresses)
		}
		for at, kind := range []string{"application/json", "text/plain; charset=utf-8"} {
			status, text, header := w.ask(http.MethodGet, strings.ReplaceAll(addresses[at][1], "&amp;", "&"), nil)
			if status != http.StatusOK || header.Get("Content-Type") != kind || header.Get("Cache-Control") != "private, max-age=600" {
				t.Errorf("%d %v %.100s", status, header, text)
			}
			points := strings.Count(text, ",0.") // scores
			if kind != "application/json" {
				lines := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ';' })
				points = len(lines)
			}
			if points < trials*9/10 {
				t.Errorf("%s of %d trials has %d: %.300s", kind, trials, points, text)
			}
		}
		for address, want := range map[string]string{"of=nothing": "expected lines, progress or hypervolume", "of=hypervolume": "nothing to draw"} {
			if status, body := w.get("/study/drawing?" + study + "&" + address); status != http.StatusNotFound || !strings.Contains(body, want) {
				t.Errorf("%s: %d\n%s", address, status, body)
			}
		}
		if _, _, header := w.ask(http.MethodGet, "/study/drawing?"+study+"&of=lines&v=old", nil); header.Get("Cache-Control") != "no-store" {
			t.Errorf("lines of another version may be kept: %v", header)
		}
	}
	if sizes[500] > sizes[250]+4<<10 {
		t.Errorf("a page has %d bytes for 250 trials and %d for 500", sizes[250], sizes[500])
	}
}

// Modules write messages and names, which a spreadsheet must not compute.
func TestTablesHaveNoFormulas(t *testing.T) {
	t.Parallel()
	rows := []report.Row{{Trial: "0000", Message: `=HYPERLINK("https://evil.example")`, Values: space.Values{{Name: "a", Of: "@SUM(1)"}, {Name: "b", Of: "-1"}, {Name: "c", Of: -2.0}}}}
	d := drawnStudy{Study: &chart.Study{Report: report.Report{Trials: rows}, Explanation: report.Explanation{Parameters: []report.Importance{{Parameter: "+a"}}}}}
	d.State.Study.Trials = []*tune.Trial{{ID: "0000", Curves: map[string][]tune.Point{"=a": {{Step: 1}}}}}
	var text strings.Builder
	out := csv.NewWriter(&text)
	if err := errors.Join(d.writeTrials(out), d.writeSteps(out), d.writeImportance(out)); err != nil {
		t.Fatal(err)
	}
	out.Flush()
	for _, formula := range []string{",=", ",@", ",+", "\n=", "\n+", `"=`} {
		if strings.Contains(text.String(), formula) {
			t.Errorf("a cell begins with %q:\n%s", formula, text.String())
		}
	}
	if !strings.Contains(text.String(), ",-1,-2") {
		t.Errorf("numbers are changed:\n%s", text.String())
	}
}
