package list_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/list"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// some are runs of every kind.
func some() []runs.Summary {
	param := func(name, value string) runs.Parameter {
		return runs.ParameterOf(name, json.RawMessage(value))
	}
	return []runs.Summary{
		{Pipeline: "penguin", Run: "monday", State: runs.Trained, Model: "s3://b/penguin/Trainer/model/0011223344556677/a1", Seconds: 90, Attempts: 1, Revision: 3,
			Metrics: map[string]float64{"accuracy": 0.95, "loss": 0.2, "units": 7}, Updated: now.Add(-time.Hour), Started: now.Add(-2 * time.Hour),
			Parameters: runs.Parameters{param("layers", "[8,16]"), param("loss", `"mse"`), param("units", "64")}},
		{Pipeline: "penguin", Run: "tuesday", State: runs.Trained, Model: "s3://b/penguin/Trainer/model/99aabbccddeeff00/a1", Seconds: 3600, Cached: true, Attempts: 2, Revision: 4,
			Metrics: map[string]float64{"accuracy": 0.85, "loss": 0.4}, Updated: now.Add(-72 * time.Hour), Started: now.Add(-80 * time.Hour),
			Parameters: runs.Parameters{param("activation", `"relu"`), param("loss", `"mae"`), param("units", "32")}},
		{Pipeline: "taxi", Run: "eve ning", State: runs.Failed, Error: "ValueError: boom password=hunter2", Attempts: 1, Updated: now.Add(-time.Minute), Started: now.Add(-time.Hour)},
		{Pipeline: "taxi", Run: "night", State: runs.Queued, Updated: now, Started: now},
	}
}

func names() list.Names { return list.NamesOf(slices.Values(some())) }

func TestAFilterSelects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "monday tuesday eve ning night",
		"accuracy > 0.9":                    "monday",
		"accuracy>=0.85 accuracy<0.95":      "tuesday",
		"metric.accuracy != 0.85":           "monday",
		"accuracy = 0.85,0.95":              "monday tuesday",
		"loss < 0.3":                        "monday", // the metric: it is a number
		"loss = mae":                        "tuesday",
		"param.loss ~ M":                    "monday tuesday",
		"param.units = 64.0":                "monday",
		"param.units > 32":                  "monday",
		"param.units != 64":                 "tuesday",
		"metric.units=7":                    "monday",
		"layers=[8,16]":                     "monday",
		"layers ~ 16":                       "monday",
		"activation=relu,tanh":              "tuesday",
		"param.nothing=1":                   "",
		"metric.nothing>1":                  "",
		"state=failed,queued":               "eve ning night",
		"state!=trained":                    "eve ning night",
		"state = trained  cached = no":      "monday",
		"cached=yes":                        "tuesday",
		"cached!=yes":                       "monday", // a run without a model has no answer
		"since=2d":                          "monday eve ning night",
		"until=2d":                          "tuesday",
		"since=2026-11-28 until=30s":        "monday eve ning",
		"since=2026-11-28T11:30":            "eve ning night",
		"started < 1h30m":                   "monday tuesday",
		"age > 1w":                          "",
		"age >= 3d":                         "tuesday",
		"took > 10m":                        "tuesday",
		"took=90s":                          "monday",
		"revision=4 attempts>1":             "tuesday",
		"MONDAY":                            "monday",
		"penguin/mon":                       "monday",
		"boom":                              "eve ning",
		"hunter2":                           "", // secrets are not found
		"error~hunter2":                     "",
		"error ~ \"valueerror: boom\"":      "eve ning",
		`"eve ning"`:                        "eve ning",
		`run="eve ning"`:                    "eve ning",
		"pipeline=taxi night":               "night",
		"model=00112233":                    "monday",
		"model=0011":                        "",
		"model~99AABB":                      "tuesday",
		"pipeline~eng accuracy > 0.9 monda": "monday",
	} {
		f, err := list.Parse(text, names())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var found []string
		for _, r := range some() {
			if f.Matches(&r, now) {
				found = append(found, r.Run)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s selects %q, want %q", text, got, want)
		}
	}
}

func TestABadTermIsAnErrorWithItsPlaceAndASuggestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"state=failed accurcy > 0.9": "character 14: no field, metric or parameter is named accurcy; did you mean accuracy?",
		"acc > 0.9":                  "character 1: no field, metric or parameter is named acc; did you mean accuracy?",
		"f1 > 0.9":                   "character 1: no field, metric or parameter is named f1; for one that no run has yet, write metric.f1 or param.f1",
		"units=64":                   "character 1: units is a metric and a parameter; write metric.units or param.units",
		"state=faild":                "character 7: no state is named faild; did you mean failed?",
		"state=x":                    "character 7: no state is named x; the states are waiting, held, queued, tuning, running, trained, failed, cancelled, expired, unclear",
		"accuracy > high":            "character 12: expected a number for metric.accuracy, got high",
		"accuracy > NaN":             "character 12: expected a number for metric.accuracy, got NaN",
		"accuracy == 0.9":            "character 10: unknown operator ==; did you mean =?",
		"accuracy => 0.9":            "character 10: unknown operator =>; did you mean >=?",
		"accuracy !~ 0.9":            "character 10: unknown operator !~; the operators are = != > >= < <= ~",
		"accuracy ~ 0.9":             "character 10: metric.accuracy has no operator ~; use = != > >= < <=",
		"run > a":                    "character 5: run has no operator >; use = != ~",
		"since > 2d":                 "character 7: since has no operator >; use =",
		"since=tomorrow":             "character 7: expected a time, got tomorrow; write 2d for two days ago, 2026-11-01 or 2026-11-01T14:30",
		"took>10":                    "character 6: expected a duration, got 10; write 90s, 10m, 2h, 3d or 1w",
		"cached=maybe":               "character 8: expected yes or no, got maybe",
		"> 3":                        "character 1: expected a name before >",
		"accuracy >":                 "character 1: expected a value after >",
		`run="monday`:                `character 5: the closing " is missing`,
		"a AND b":                    `character 3: AND does not join terms; all terms must hold already: remove it; "AND" in quotes is a text`,
		"a or b":                     `character 3: or does not join terms; write alternatives of one name with a comma: state=failed,expired; "or" in quotes is a text`,
		"param.loss > big":           "character 14: expected a number after >, got big; use = != ~ with texts",
		"é accurcy=1":                "character 3: no field, metric or parameter is named accurcy; did you mean accuracy?",
		strings.Repeat("a ", 33):     "character 65: at most 32 terms are read",
		strings.Repeat("a", 1001):    "character 1: the filter has 1001 bytes; at most 1000 are read",
	} {
		if f, err := list.Parse(text, names()); err == nil || err.Error() != want || !f.Empty() {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

func TestATermIsReplaced(t *testing.T) {
	t.Parallel()
	f, err := list.Parse(`state = failed,expired  accuracy > 0.9 state!=queued "a b"`, names())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Has("state"); !slices.Equal(got, []string{"failed", "expired"}) {
		t.Errorf("%q", got)
	}
	if got, want := f.With("state", runs.Trained), `accuracy > 0.9 "a b" state=trained`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := f.Without("state").With("run", `a "b"`), `accuracy > 0.9 state=trained run="a \"b\""`; got == want || !strings.HasSuffix(got, `run="a \"b\""`) {
		t.Errorf("%q", got)
	}
}

// TestACursorIsStable reads pages while runs arrive, end and change: no run that was there all the
// time is seen twice or missed, in any order.
func TestACursorIsStable(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"", "run", "-run", "state", "metric.accuracy", "-metric.accuracy", "param.units", "-started", "took", "error"} {
		order, err := list.ParseOrder(by)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		var all []runs.Summary
		arrive := func(name string) {
			r := some()[random.IntN(4)]
			r.Run, r.Updated, r.Metrics = name, now.Add(time.Duration(random.IntN(50))*time.Second), map[string]float64{"accuracy": float64(random.IntN(5))}
			all = append(all, r)
		}
		for i := range 95 {
			arrive(fmt.Sprintf("old-%02d", i))
		}
		seen, cursor := map[string]int{}, ""
		var back []string
		for pages := 0; ; pages++ {
			order.Sort(all)
			page, err := order.Page(all, cursor, 10)
			if err != nil || pages > 60 {
				t.Fatalf("%s: %d pages, %v", by, pages, err)
			}
			for _, r := range page.Runs {
				seen[r.Run]++
			}
			back = append(back, page.Previous)
			if cursor = page.Next; cursor == "" {
				break
			}
			arrive(fmt.Sprintf("new-%02d", pages))
			all = slices.DeleteFunc(all, func(r runs.Summary) bool { return r.Run == fmt.Sprintf("old-%02d", 90+pages) })
		}
		for i := range 90 {
			if name := fmt.Sprintf("old-%02d", i); seen[name] != 1 {
				t.Errorf("%s: %s was seen %d times", by, name, seen[name])
			}
		}
		order.Sort(all)
		last, err := order.Page(all, back[len(back)-1], 10)
		if err != nil || last.Next == "" || last.From == 0 {
			t.Errorf("%s: the page before the last is %+v, %v", by, last, err)
		}
	}
}

func TestPagesGoBackToTheFirst(t *testing.T) {
	t.Parallel()
	var all []runs.Summary
	for i := range 25 {
		all = append(all, runs.Summary{Pipeline: "p", Run: fmt.Sprintf("%02d", i), Updated: now})
	}
	order, _ := list.ParseOrder("run")
	order.Sort(all)
	first, _ := order.Page(all, "", 10)
	second, _ := order.Page(all, first.Next, 10)
	again, err := order.Page(all, second.Previous, 10)
	if err != nil || again.From != 0 || len(again.Runs) != 10 || again.Previous != "" || again.Next != first.Next || second.From != 10 {
		t.Errorf("%+v, %v", again, err)
	}
	if page, err := order.Page(all[:10], second.Next, 10); err != nil || len(page.Runs) != 10 {
		t.Errorf("runs after the cursor are gone: %+v, %v", page, err)
	}
	if page, err := order.Page(nil, second.Next, 10); err != nil || len(page.Runs) != 0 || page.Previous != "" {
		t.Errorf("all runs are gone: %+v, %v", page, err)
	}
	for _, bad := range []string{"x", "a", "b!", "aW10", second.Next[:len(second.Next)-4], "a" + strings.Repeat("x", 5000)} {
		if _, err := order.Page(all, bad, 10); err == nil {
			t.Errorf("the cursor %.20q is read", bad)
		}
	}
	other, _ := list.ParseOrder("-run")
	if _, err := other.Page(all, second.Next, 10); err == nil {
		t.Error("a cursor of another order is read")
	}
	for _, bad := range []string{"age", "accuracy", "metric.", "--run", strings.Repeat("x", 3000)} {
		if _, err := list.ParseOrder(bad); err == nil {
			t.Errorf("the order %.20q is read", bad)
		}
	}
}

// FuzzParse checks that any text is a filter, or an error at a place in it, and that its terms can
// be replaced.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`accuracy > 0.9 units=64 state=failed since=2d pipeline=penguin text`, `run="a \" b" x!=`, "a,b=,,c,", "took>1e9w", `layers=[8,16] "`, "\xff=\xff", "state=failed,expired OR"} {
		f.Add(text)
	}
	known, all := names(), some()
	f.Fuzz(func(t *testing.T, text string) {
		selection, err := list.Parse(text, known)
		if err != nil {
			fault := err.(*filter.Error)
			if fault.From < 0 || fault.From > fault.To || fault.To > len(fault.Text) || fault.Message == "" {
				t.Fatalf("%+v", fault)
			}
			_ = fault.Error()
			return
		}
		for i := range all {
			selection.Matches(&all[i], now)
		}
		with := selection.With("run", text)
		again, err := list.Parse(with, known)
		if len(with) > filter.MaxBytes {
			return
		}
		if err != nil && !strings.Contains(err.Error(), "at most") || err == nil && !slices.Equal(again.Has("run"), []string{text}) {
			t.Fatalf("%q with run=%q is %q: %v, %q", selection, text, with, err, again.Has("run"))
		}
	})
}

func ExampleParse() {
	all := []runs.Summary{
		{Pipeline: "penguin", Run: "monday", Metrics: map[string]float64{"accuracy": 0.95}},
		{Pipeline: "penguin", Run: "tuesday", Metrics: map[string]float64{"accuracy": 0.85}},
	}
	selection, err := list.Parse("accuracy > 0.9", list.NamesOf(slices.Values(all)))
	for _, r := range all {
		if selection.Matches(&r, now) {
			fmt.Println(r.Run, err)
		}
	}
	_, err = list.Parse("accurcy > 0.9", list.NamesOf(slices.Values(all)))
	fmt.Println(err)
	// Output:
	// monday <nil>
	// character 1: no field, metric or parameter is named accurcy; did you mean accuracy?
}
