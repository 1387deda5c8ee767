package console

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// studyLog writes the log of a study.
type studyLog struct {
	w        *world
	name     events.Study
	after    uint64
	previous string
}

func (w *world) studyLog(id string, c tune.Config) *studyLog {
	w.t.Helper()
	l := &studyLog{w: w, name: events.Study{Pipeline: "penguin", ID: strings.Repeat(id, 32)}}
	l.write(tune.Entry{Begun: &tune.Begun{Request: "j", Config: c}})
	return l
}

func (l *studyLog) write(e tune.Entry) {
	l.w.t.Helper()
	e.Previous = l.previous
	body, err := e.Bytes()
	l.previous = tune.HashOf(body)
	if err == nil {
		l.after, err = l.w.bus.AppendStudy(l.w.t.Context(), l.name, body, l.after)
	}
	if err != nil {
		l.w.t.Fatal(err)
	}
}

// landscape is a search over seven parameters that a network of the usual kind has: an accuracy
// with an optimum, a learning rate whose best value depends on the batch size, and one parameter
// that doesn't matter. It tries what is random first, then what is near the best.
type landscape struct {
	random *rand.Rand
	best   space.Values
	top    float64
}

var landscapeSpace = space.Space{
	{Name: "learning_rate", Kind: space.Float, Min: 0.0001, Max: 0.1, Sampling: space.Log}, {Name: "units", Kind: space.Int, Min: 4, Max: 256, Sampling: space.Log},
	{Name: "dropout", Kind: space.Float, Min: 0, Max: 0.6, Sampling: space.Linear}, {Name: "activation", Kind: space.Choice, Choices: []any{"relu", "tanh", "gelu"}},
	{Name: "batch_size", Kind: space.Choice, Choices: []any{int64(16), int64(32), int64(64), int64(128)}, Ordered: true},
	{Name: "l2", Kind: space.Float, Min: 1e-6, Max: 0.01, Sampling: space.Log}, {Name: "shuffle_seed", Kind: space.Int, Min: 0, Max: 1000, Sampling: space.Linear},
}

func (l *landscape) next(part float64) space.Values {
	near := func(name string, low, high float64) float64 {
		v, there := l.best.Lookup(name)
		if f, ok := v.(float64); there && ok && l.random.Float64() < part {
			return max(low, min(high, f+0.15*(high-low)*l.random.NormFloat64()))
		}
		return low + (high-low)*l.random.Float64()
	}
	rate, units, l2 := near("rate", -4, -1), near("log_units", 2, 8), -6+4*l.random.Float64()
	return space.Values{
		{Name: "learning_rate", Of: math.Pow(10, rate)}, {Name: "units", Of: int64(math.Round(math.Exp2(units)))}, {Name: "dropout", Of: near("dropout", 0, 0.6)},
		{Name: "activation", Of: []string{"relu", "tanh", "gelu"}[l.random.IntN(3)]}, {Name: "batch_size", Of: int64(16) << l.random.IntN(4)},
		{Name: "l2", Of: math.Pow(10, l2)}, {Name: "shuffle_seed", Of: l.random.Int64N(1001)},
	}
}

func (l *landscape) score(values space.Values) float64 {
	v := values.Map()
	rate, units, dropout := math.Log10(v["learning_rate"].(float64)), math.Log2(float64(v["units"].(int64))), v["dropout"].(float64)
	batch := math.Log2(float64(v["batch_size"].(int64))) - 5
	score := 0.94 - 0.09*math.Pow(rate+2.4-0.3*batch, 2) - 0.012*math.Pow(units-6.2, 2) - 0.25*math.Pow(dropout-0.15, 2)
	score += map[any]float64{"relu": 0, "tanh": -0.03, "gelu": 0.008}[v["activation"]] + 0.006*l.random.NormFloat64()
	score = max(0.1, score)
	if score > l.top {
		l.top, l.best = score, space.Values{{Name: "rate", Of: rate}, {Name: "log_units", Of: units}, {Name: "dropout", Of: dropout}}
	}
	return score
}

// curve returns reports on the way to a score, up to a step.
func (l *landscape) curve(score float64, until int) (curve []tune.Point) {
	pace := 2 + 6*l.random.Float64()
	for step := 1; step <= until; step++ {
		curve = append(curve, tune.Point{Step: 10 * step, Value: score*(1-0.7*math.Exp(-float64(step)/pace)) + 0.004*l.random.NormFloat64()})
	}
	if until > 0 {
		curve[until-1].Value = score
	}
	return curve
}

// search writes the log of a study of four jobs, and returns its id. Of ten trials one to three are
// stopped, and of forty one fails.
func (w *world) search(trials int) string {
	w.t.Helper()
	log := w.studyLog("ab", tune.Config{Space: landscapeSpace, Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
		Algorithm: tune.Algorithm{Name: tune.TPE}, MaxTrials: trials, Parallel: 4, MaxFailures: trials})
	land := &landscape{random: rand.New(rand.NewPCG(1, 2))}
	type active struct {
		id    string
		owner tune.Owner
		score float64
	}
	var running []active
	for i := 0; i < trials || len(running) > 0; {
		if i < trials && len(running) < 4 {
			free := 0
			for slicesHas(running, func(a active) bool { return a.owner.Job == fmt.Sprintf("%016x", 0xa11ce+7919*free) }) {
				free++
			}
			one := active{id: fmt.Sprintf("%04d", i), owner: tune.Owner{Job: fmt.Sprintf("%016x", 0xa11ce+7919*free), Attempt: "a"}}
			values := land.next(0.7 * float64(i) / float64(trials))
			one.score = land.score(values)
			log.write(tune.Entry{Started: []tune.Started{{Trial: one.id, Suggestion: &tune.Suggestion{Values: values}, Owner: one.owner, Worker: fmt.Sprintf("node-%d-k3f9qz", len(running)/2)}}})
			running, i = append(running, one), i+1
			continue
		}
		at := land.random.IntN(len(running))
		one := running[at]
		running = append(running[:at], running[at+1:]...)
		ended := &tune.Ended{Trial: one.id, Owner: one.owner, Status: tune.Completed, Step: 200, Metrics: map[string]float64{"accuracy": one.score, "loss": 1.2 - one.score}}
		ended.Curves = map[string][]tune.Point{"accuracy": land.curve(one.score, 20)}
		switch number := len(one.id) + int(one.id[3]); {
		case one.id[2:] == "07" || one.id[2:] == "47":
			ended.Status, ended.Metrics, ended.Curves = tune.Failed, nil, nil
			ended.Message = "ResourceExhaustedError: out of memory allocating a tensor of shape [256, <b>4096]\npassword=hunter2\nat step 12"
		case one.score < land.top-0.12 && number%2 == 0:
			ended.Curves["accuracy"] = []tune.Point{{Step: 10, Value: 0.9 * one.score}, {Step: 20, Value: one.score}}
			ended.Step, ended.Stopped = 20, 20
		}
		log.write(tune.Entry{Ended: ended})
	}
	log.write(tune.Entry{Finished: &tune.Finished{Why: tune.MaxTrials}})
	return log.name.ID
}

func slicesHas[T any](list []T, has func(T) bool) bool {
	for _, one := range list {
		if has(one) {
			return true
		}
	}
	return false
}

// tradeOff writes the log of a study with two objectives that is still running.
func (w *world) tradeOff(trials int) string {
	w.t.Helper()
	log := w.studyLog("cd", tune.Config{Space: landscapeSpace[:3], Algorithm: tune.Algorithm{Name: tune.Random}, Parallel: 2, MaxTrials: 2 * trials,
		Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}, {Name: "latency_ms", Direction: tune.Min}}})
	random := rand.New(rand.NewPCG(3, 4))
	for i := range trials {
		id, owner := fmt.Sprintf("%04d", i), tune.Owner{Job: "j", Attempt: "a"}
		units, dropout := int64(4+random.IntN(252)), 0.6*random.Float64()
		values := space.Values{{Name: "learning_rate", Of: math.Pow(10, -4+3*random.Float64())}, {Name: "units", Of: units}, {Name: "dropout", Of: dropout}}
		log.write(tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &tune.Suggestion{Values: values}, Owner: owner}}})
		if i == trials-1 {
			break
		}
		log.write(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{
			"accuracy": 0.7 + 0.1*math.Log10(float64(units)) - 0.1*dropout + 0.02*random.NormFloat64(), "latency_ms": 2 + float64(units)/20 + random.Float64(),
		}}})
	}
	return log.name.ID
}

func TestAStudyIsShown(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.search(40)
	w.sees("/studies", "penguin", "tpe", "39 of 40", "all trials done", "higher is better", "finished")
	body := w.sees("/study?pipeline=penguin&id="+id, "Parallel coordinates", "Importance", "Functional ANOVA", "Best so far", "accuracy", "higher is better", "39 completed of 40",
		`class="best"`, "Best at step", "> stopped at 20<", "> completed<", "all trials done", "Contour", "Intermediate values", "Timeline")
	if at := strings.Index(body, "<meter"); !strings.Contains(body[max(0, at-80):at], "learning_rate") {
		t.Error("what is most important is not first")
	}
	if strings.Contains(body, "hunter2") || strings.Contains(body, "<b>4096") {
		t.Error("a message is shown with a secret, or as HTML")
	}
	w.sees("/trial?pipeline=penguin&id="+id+"&trial=0000", `<a href="/workers/node-0-k3f9qz">node-0-k3f9qz</a>`)
	// A trial that was stopped has no tick.
	if !strings.Contains(body, `class="pill stopped"><span aria-hidden="true">◐`) || strings.Contains(body, `✓</span> stopped`) {
		t.Error("a stopped trial looks like a completed one")
	}
}

func TestDrawingsOfAStudyAreServed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.search(60)
	body := w.sees("/study?pipeline=penguin&id="+id, "study-picture")
	sources := regexp.MustCompile(`src="(/study/picture.svg[^"]*)"`).FindAllStringSubmatch(body, -1)
	if len(sources) < 10 {
		t.Errorf("%d drawings", len(sources))
	}
	for _, source := range sources {
		path := strings.ReplaceAll(source[1], "&amp;", "&")
		status, svg, header := w.ask(http.MethodGet, path, nil)
		if status != http.StatusOK || !strings.HasPrefix(svg, "<svg ") || header.Get("Content-Type") != "image/svg+xml" || header.Get("Cache-Control") != "private, max-age=600" {
			t.Errorf("%s: %d %v %.100s", path, status, header, svg)
		}
	}
	for _, wrong := range []string{"kind=slice&x=nosuch", "kind=nosuch", "kind=contour&x=units&y=units", "kind=contour&x=units&y=nosuch", "kind=pareto&x=accuracy&y=accuracy", "kind=timeline&x=anything"} {
		if status, _ := w.get("/study/picture.svg?pipeline=penguin&id=" + id + "&" + wrong); status != http.StatusNotFound {
			t.Errorf("%s: %d", wrong, status)
		}
	}
	_, _, header := w.ask(http.MethodGet, "/study/picture.svg?pipeline=penguin&id="+id+"&kind=timeline&v=old", nil)
	if header.Get("Cache-Control") != "no-store" {
		t.Errorf("a drawing of another version may be kept: %v", header)
	}
}

func TestTheTableOfTrialsIsFiltered(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.search(120)
	page := func(pairs ...string) string {
		query := url.Values{"pipeline": {"penguin"}, "id": {id}}
		for i := 0; i+1 < len(pairs); i += 2 {
			query.Set(pairs[i], pairs[i+1])
		}
		_, body := w.get("/study?" + query.Encode())
		_, table, _ := strings.Cut(body, `id="study-table"`)
		return table
	}
	row := regexp.MustCompile(`<tr data-line="[^"]*"[^>]*><th scope="row"><a href="[^"]*">([0-9]+)`)
	trials := func(table string) (list []string) {
		for _, match := range row.FindAllStringSubmatch(table, -1) {
			list = append(list, match[1])
		}
		return list
	}
	if got := trials(page("state", "failed", "sort", "trial")); fmt.Sprint(got) != "[0007 0047 0107]" {
		t.Errorf("failed: %v", got)
	}
	if got := trials(page("q", "state=failed", "state", "", "sort", "trial")); len(got) != 50 || got[0] != "0000" {
		t.Errorf("any state: %v", got)
	}
	if got := trials(page("q", "activation=gelu units>=64 units<=128")); len(got) == 0 || len(got) > 40 {
		t.Errorf("%d trials", len(got))
	}
	if got := page("q", "nosuch=1"); !strings.Contains(got, "no trial has a value named") {
		t.Error("an unknown name is taken")
	}
	if got := page("q", `"<script>"`); strings.Contains(got, "<script>") || !strings.Contains(got, "No trial matches") {
		t.Error("a filter is shown as HTML")
	}
	// All pages in turn have each trial once.
	seen, table := map[string]bool{}, page("sort", "-units")
	for pages := 1; ; pages++ {
		for _, trial := range trials(table) {
			if seen[trial] {
				t.Fatalf("%s twice", trial)
			}
			seen[trial] = true
		}
		next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(table)
		if next == nil {
			if len(seen) != 120 || pages != 3 {
				t.Errorf("%d trials on %d pages", len(seen), pages)
			}
			break
		}
		path, _, _ := strings.Cut(strings.ReplaceAll(next[1], "&amp;", "&"), "#")
		_, body := w.get(path)
		_, table, _ = strings.Cut(body, `id="study-table"`)
	}
}

func TestATrialIsShown(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.search(40)
	at := func(trial string) string { return "/trial?pipeline=penguin&id=" + id + "&trial=" + trial }
	w.sees(at("0012"), "Trial 0012", "of 39 by score", "Next better", "Next worse", "0011", "0013", "learning_rate", "accuracy by step", "best_hyperparameters.txt", "stoker try MODULE", "hparams.ready")
	failed := w.sees(at("7"), "Trial 0007", "ResourceExhaustedError", "failed")
	if strings.Contains(failed, "hunter2") || strings.Contains(failed, "<b>4096") {
		t.Error("a message is shown with a secret, or as HTML")
	}
	_, text, header := w.ask(http.MethodGet, "/trial/hyperparameters?pipeline=penguin&id="+id+"&trial=0012", nil)
	if !strings.Contains(text, `"learning_rate"`) || !strings.Contains(header.Get("Content-Disposition"), "best_hyperparameters.txt") {
		t.Errorf("%v %s", header, text)
	}
	if _, brief := w.get("/trial/brief?pipeline=penguin&id=" + id + "&trial=12"); !strings.HasPrefix(brief, "Trial 0012, ") || !strings.Contains(brief, "\nlearning_rate 0.") {
		t.Error(brief)
	}
	for _, wrong := range []string{"", "99", "-1", "x", strings.Repeat("9", 400)} {
		if status, _ := w.get(at(wrong)); status != http.StatusNotFound {
			t.Errorf("trial %.20s: %d", wrong, status)
		}
	}
}

// A search among tokens is odd, but possible: no page, drawing or file has them.
func TestASecretParameterOfAStudyIsNotShown(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	parameters := space.Space{
		{Name: "rate", Kind: space.Float, Min: 0, Max: 1}, {Name: "api_key", Kind: space.Choice, Choices: []any{"hunter1", "hunter2"}},
		{Name: "url", Kind: space.Choice, Choices: []any{"s3://user:hunter3@host/a", "s3://host/b"}},
	}
	log := w.studyLog("5e", tune.Config{
		Space: parameters, Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: 20, Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	})
	for i := range 12 {
		id, owner := fmt.Sprintf("%04d", i), tune.Owner{Job: "j", Attempt: "a"}
		values := space.Values{{Name: "rate", Of: float64(i) / 12}, {Name: "api_key", Of: parameters[1].Choices[i%2]}, {Name: "url", Of: parameters[2].Choices[i/2%2]}}
		log.write(tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &tune.Suggestion{Values: values}, Owner: owner}}})
		log.write(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{"loss": float64(i)}}})
	}
	study := "?pipeline=penguin&id=" + log.name.ID
	body := w.sees("/study"+study, "api_key", mask.Hidden, "Contour")
	paths := []string{
		"/study" + study, "/study" + study + "&slices=all", "/study" + study + "&x=api_key&y=url", "/trial" + study + "&trial=3", "/trial/brief" + study + "&trial=3",
		"/study/data.csv" + study + "&of=trials",
	}
	w.sees("/study"+study+"&q=api_key%3Dhunter2", "No trial matches") // secrets are not found
	for _, link := range regexp.MustCompile(`(?:href|src|data-png|data-lines)="(/study[^"]*)"`).FindAllStringSubmatch(body, -1) {
		paths = append(paths, strings.ReplaceAll(link[1], "&amp;", "&"))
	}
	for _, path := range paths {
		status, text := w.get(path)
		if status != http.StatusOK || regexp.MustCompile("hunter[123]").MatchString(text) {
			t.Errorf("%s: %d, with a secret:\n%s", path, status, text)
		}
	}
	status, refusal := w.get("/trial/hyperparameters" + study + "&trial=3")
	if status != http.StatusForbidden || !strings.Contains(refusal, "The value of api_key looks like a secret") || strings.Contains(refusal, "hunter") {
		t.Errorf("%d: %s", status, refusal)
	}
}

func TestAStudySaysWhichFoldsJudgeItsTrials(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	log := w.studyLog("f0", tune.Config{
		Space: landscapeSpace[:1], Algorithm: tune.Algorithm{Name: tune.ASHA}, MaxTrials: 5, Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
		Validation: tune.Validation{Folds: 5, Order: tune.Forward},
	})
	owner := tune.Owner{Job: "j", Attempt: "a"}
	log.write(tune.Entry{Started: []tune.Started{{Trial: "0000", Suggestion: &tune.Suggestion{Values: space.Values{{Name: landscapeSpace[0].Name, Of: 0.01}}, Epochs: 4}, Owner: owner}}})
	log.write(tune.Entry{Ended: &tune.Ended{Trial: "0000", Owner: owner, Status: tune.Completed, Step: 4, Metrics: map[string]float64{"accuracy": 0.5, "accuracy_std": 0.125}}})
	study := "?pipeline=penguin&id=" + log.name.ID
	w.sees("/study"+study, "<dt>Validation</dt><dd>5 folds, forward</dd>")
	w.sees("/trial"+study+"&trial=0", "<dt>Folds done</dt><dd>4</dd>", "<dt>Folds</dt>", "accuracy_std")
}

func TestAStudyWithTwoObjectivesHasAFront(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.tradeOff(30)
	body := w.sees("/study?pipeline=penguin&id="+id, "Pareto front", "Hypervolume", "Trials of the front", "latency_ms", "lower is better", "29 completed of 60", "1 running")
	if n := strings.Count(body, "in the Pareto front"); n != 1 {
		t.Errorf("%d", n)
	}
}

// threeTrials returns a study whose trials have numbers, texts, a message and no score.
func threeTrials() *chart.Study {
	trial := func(id string, status tune.Status, rate float64, word, message string, loss float64) *tune.Trial {
		t := &tune.Trial{ID: id, Status: status, Message: message, Suggestion: tune.Suggestion{Values: space.Values{{Name: "rate", Of: rate}, {Name: "a b", Of: word}}}}
		if status == tune.Completed {
			t.Metrics, t.Started, t.Ended = map[string]float64{"loss": loss, "auc": 1 - loss}, time.Unix(1, 0), time.Unix(61, 0)
		}
		return t
	}
	return chart.NewStudy(tune.Study{Entries: 1, Config: tune.Config{
		Space: space.Space{
			{Name: "rate", Kind: space.Float, Min: 0.001, Max: 1, Sampling: space.Log},
			{Name: "a b", Kind: space.Choice, Choices: []any{"relu", "x,y"}},
		},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}, Trials: []*tune.Trial{
		trial("0000", tune.Completed, 0.01, "relu", "", 0.25), trial("0001", tune.Completed, 0.1, "x,y", "", 1.0/3),
		trial("0002", tune.Failed, 1, "relu", "OOM at s3://k:hunter2@b", 0),
	}})
}

func TestATrialIsSelectedByWhatThePageShows(t *testing.T) {
	t.Parallel()
	s := threeTrials()
	for text, want := range map[string]string{
		"":                           "0000 0001 0002",
		"rate>=0.1":                  "0001 0002",
		"rate=0.01,1":                "0000 0002",
		`"a b"=RELU`:                 "0000 0002",
		`"a b"=x,y`:                  "0001",
		`"a b"!="x,y" loss<1`:        "0000",
		"loss=" + chart.Short(1.0/3): "0001", // as it is shown
		"auc>0.7":                    "0000",
		"seconds=60":                 "0000 0001",
		"state=failed":               "0002",
		"state~COMPL trial=0001":     "0001",
		"oom":                        "0002",
		"hunter2":                    "", // secrets are not found
		"REL 0000":                   "0000",
		"nosuch=1":                   "0000 0001 0002 character 1: no trial has a value named nosuch",
		"rate>0.01 los=1 rate<1":     "0001 0002 character 11: no trial has a value named los; did you mean loss?",
		"state=faild":                "0000 0001 0002 character 7: no state is named faild; did you mean failed?",
		"rate>x":                     "0000 0001 0002 character 6: expected a number after >, got x; use = != ~ with texts",
		strings.Repeat("0 ", 33):     "0000 0001 0002 character 65: at most 32 terms are read",
	} {
		f, err := parseTrials(s, text)
		var got []string
		for _, row := range s.Rows() {
			if f.Matches(&row, time.Time{}) {
				got = append(got, row.Trial)
			}
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if found := strings.Join(got, " "); found != want {
			t.Errorf("%s selects %q, want %q", text, found, want)
		}
	}
}

// What a filter selects on an axis is drawn there; the rest stays as it is written.
func TestBrushesAreTermsOfTheFilter(t *testing.T) {
	t.Parallel()
	s := threeTrials()
	f, err := parseTrials(s, `rate >= 0.01  state=completed rate<=0.1 "a b"=relu rate!=0.05`)
	if err != nil {
		t.Fatal(err)
	}
	list, rest := brushes(f, s.Axes())
	if rest.String() != "state=completed rate!=0.05" || len(list) != 2 {
		t.Fatalf("%v, %q", list, rest)
	}
	for _, b := range list {
		d := s.Axes()[b.Axis]
		low, high := d.Position(0.01), d.Position(0.1)
		if d.Name == "a b" {
			low, high = float64(slices.Index(d.Words, "relu"))/2, float64(slices.Index(d.Words, "relu")+1)/2
		}
		if b.Low != low || b.High != high {
			t.Errorf("%s: %+v, want %v to %v", d.Name, b, low, high)
		}
	}
}

// FuzzTrialFilter reads any text to its end.
func FuzzTrialFilter(f *testing.F) {
	for _, text := range []string{`rate>1`, `"a b"="x`, `= , "\`, `loss~ b,c`} {
		f.Add(text)
	}
	s := threeTrials()
	f.Fuzz(func(t *testing.T, text string) {
		selection, err := parseTrials(s, text)
		if err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
		list, rest := brushes(selection, s.Axes())
		for _, b := range list {
			if !(b.Low >= 0 && b.Low <= b.High && b.High <= 1) {
				t.Fatalf("%+v", b)
			}
		}
		for _, row := range s.Rows() {
			selection.Matches(&row, time.Time{})
			rest.Matches(&row, time.Time{})
		}
	})
}

// The rules of drawings are in the style sheet too: a page puts drawings into itself.
func TestTheStyleSheetHasTheRulesOfDrawings(t *testing.T) {
	t.Parallel()
	sheet, err := static.ReadFile("static/console.css")
	if err != nil {
		t.Fatal(err)
	}
	for rule := range strings.SplitSeq(strings.TrimSpace(chart.StyleRules), "\n") {
		if !strings.Contains(string(sheet), rule+"\n") {
			t.Errorf("no %s", rule)
		}
	}
}
