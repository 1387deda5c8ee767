//go:build browser

package console

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// axeVersion is the version of npm's axe-core that checks pages.
const axeVersion = "4.14.1"

// browser is the program that checks pages, built from its own module, with axe and Chromium.
type browser struct{ program, axe string }

func openBrowser(t *testing.T) browser {
	t.Helper()
	dir := t.TempDir()
	b := browser{filepath.Join(dir, "browser"), filepath.Join(dir, "package", "axe.min.js")}
	do(t, "../../infra/browser", "go", "build", "-o", b.program, ".")
	do(t, dir, "npm", "pack", "--silent", "axe-core@"+axeVersion)
	do(t, dir, "tar", "-xzf", "axe-core-"+axeVersion+".tgz")
	_, err := exec.LookPath("chromium")
	if _, noFont := os.Stat("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"); err != nil || noFont != nil {
		do(t, dir, "apt-get", "update", "-q")
		do(t, dir, "apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core")
	}
	return b
}

func do(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// finding is what the program prints about a page.
type finding struct {
	URL, Scheme      string
	Width, Overflow  int
	Violations       []string
	Errors           []string
	Elements, Charts int
	Figures          figures
	Picture          string
}

// figures are measurements of loading a page once.
type figures struct {
	Load    float64 `json:"load_ms"`
	Server  float64 `json:"server_ms"`
	Painted float64 `json:"painted_ms"`
	Longest float64 `json:"longest_task_ms"`
	Bytes   int
	Sent    int
}

// ask runs the program, and reads what it prints.
func ask[T any](t testing.TB, b browser, args ...string) (answer T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return answer
}

// TestBrowserFindsNothingWrong checks every page, wide and narrow, light and dark, with 5,000 runs
// and a study of 2,000 trials. STOKER_SHOTS names a directory for pictures. TestBenchPages measures
// how long pages take.
func TestBrowserFindsNothingWrong(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	pages := w.crowd(5000, 2000)
	shots := os.Getenv("STOKER_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	args := append([]string{"-axe", b.axe, "-shots", shots, "-width", "1440", "-width", "390"}, pages...)
	for _, found := range ask[[]finding](t, b, args...) {
		path := strings.TrimPrefix(found.URL, w.url)
		t.Logf("%-60.60s %4d %-5s %d elements, %d charts", path, found.Width, found.Scheme, found.Elements, found.Charts)
		if found.Overflow > 0 {
			found.Errors = append(found.Errors, fmt.Sprintf("the page is %d pixels wider than the window", found.Overflow))
		}
		if len(found.Violations) > 0 || len(found.Errors) > 0 {
			t.Errorf("%s, %d, %s:\n%s", path, found.Width, found.Scheme, strings.Join(slices.Concat(found.Violations, found.Errors), "\n"))
		}
	}
}

// loads are the figures of one page, in a tab that is open and in a new one.
type loads struct {
	URL     string
	OpenTab []figures `json:"open_tab"`
	NewTab  []figures `json:"new_tab"`
}

// TestBenchPages measures how pages load, with 5,000 runs and a study of 2,000 trials: task
// bench:console. It asserts nothing about times, because machines differ.
func TestBenchPages(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	pages := w.crowd(5000, 2000)
	t.Logf(`%d loadings of each page in headless Chromium, of each figure the median (least-greatest) in milliseconds:
load: from a click on a link until the load event, in an open tab that shows another page of the console
new tab: from the request until the load event, in a tab opened for it, which the browser still prepares meanwhile
server, painted, longest task: in the open tab, the server's part, the first contentful paint, and the longest task of the main thread (0: none of 50 ms)
of new tab: the longest task there; then the KiB of HTML (as sent)`, *loadings)
	for _, page := range ask[[]loads](t, b, append([]string{"-times", fmt.Sprint(*loadings)}, pages...)...) {
		t.Logf("%-48.48s load %s  new tab %s  server %s  painted %s  longest task %s  of new tab %s  %d KiB (%d)", strings.TrimPrefix(page.URL, w.url),
			spread(page.OpenTab, load), spread(page.NewTab, load),
			spread(page.OpenTab, func(f figures) float64 { return f.Server }), spread(page.OpenTab, func(f figures) float64 { return f.Painted }),
			spread(page.OpenTab, longest), spread(page.NewTab, longest), page.OpenTab[0].Bytes>>10, page.OpenTab[0].Sent>>10)
	}
}

func load(f figures) float64    { return f.Load }
func longest(f figures) float64 { return f.Longest }

func spread(all []figures, of func(figures) float64) string {
	var values []float64
	for _, one := range all {
		values = append(values, of(one))
	}
	slices.Sort(values)
	return fmt.Sprintf("%4.0f (%.0f-%.0f)", values[len(values)/2], values[0], values[len(values)-1])
}

// crowd fills the bus and the store, waits until the console has read them, and returns every kind
// of page.
func (w *world) crowd(runs, trials int) (pages []string) {
	w.t.Helper()
	w.apply(penguin)
	w.apply(strings.Replace(penguin, "penguin", "taxi-tips", 1))
	w.giveUp("given-up")
	w.fleet()
	for i := range 12 {
		w.logRun(fmt.Sprintf("s3://bkt/penguin/Trainer/model_run/%d", i), float64(i*7%12)/12)
	}
	w.population(runs)
	w.publish(events.Event{ID: "x", Source: "/up", Pipeline: "nosuch", Run: "lost", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}})
	w.deadLetterOne()
	w.descended()
	w.manyFiles()
	study, tradeOff := w.search(trials), w.tradeOff(60)
	checkpoint := w.saveTrial(tradeOff, "0059", 1300)
	w.shelve("s3://bkt/penguin/Trainer/model/"+digest[7:]+"/a1/Format-Serving/saved_model.pb", "a model")
	w.eventually("all runs are known", func() bool { return len(w.model.snapshot()) >= runs })
	now := time.Now()
	for step := range 40 {
		loss := 0.3 + math.Exp(-float64(step)/12)
		w.model.progress(events.Progress{
			Job: "j", Pipeline: "penguin", Run: "run-0005", Attempt: "a", Phase: "training", Step: 100 * step, Steps: 10000, Time: now.Add(time.Duration(step-40) * time.Second),
			Metrics: map[string]float64{"loss": loss, "val_loss": loss + 0.1, "accuracy": 1 - loss/2, "val_accuracy": 0.97 - loss/2},
		})
	}
	w.sees("/runs", `class="spark"`)
	last := fmt.Sprintf("run-%04d", (runs-1)/7*7)
	compared := "" // as many as a page compares: 12 with a log
	for i := 0; strings.Count(compared, "&") < mostCompared; i++ {
		if i%7 != 3 && i%7 != 5 {
			compared += fmt.Sprintf("&run=penguin/run-%04d", i)
		}
	}
	for _, path := range []string{
		"/", "/workers", "/workers?q=cpu&sort=-slots", "/workers/gpu-node-1-k3f9qz", "/workers/worker-a-k3f9qz",
		"/runs", filteredRuns,
		"/runs?q=state%3Dfailed+accurcy+%3E+0.9", "/run?pipeline=penguin&run=" + last, "/run?pipeline=penguin&run=run-0003", "/run?pipeline=penguin&run=run-0005",
		"/compare?run=penguin/run-0001&run=penguin/run-0002&run=penguin/run-0004&run=penguin/run-0005", "/compare?" + compared[1:], "/studies", "/study?pipeline=penguin&id=" + study, "/pipelines",
		"/study?pipeline=penguin&id=" + study + "&x=dropout&y=units&q=learning_rate%3E%3D0.001+learning_rate%3C%3D0.02+activation%3Dgelu%2Crelu+state%3Dstopped", "/study?pipeline=penguin&id=" + tradeOff,
		"/trial?pipeline=penguin&id=" + study + "&trial=12", "/trial?pipeline=penguin&id=" + study + "&trial=7",
		"/trial?pipeline=penguin&id=" + tradeOff + "&trial=59", "/artifact?ref=" + checkpoint.Checkpoint(storage.Checkpoint{Attempt: "a1", Number: 1}).String(),
		"/pipeline?name=penguin", "/pipeline?name=nosuch", "/pipeline/remove?name=penguin", "/pipeline/rollback?name=penguin&revision=3", "/revisions?name=penguin", "/revisions?name=taxi-tips", "/dead", "/dead?by=letter", "/dead/ask?do=retry", "/dead-letter?number=1", "/dead-letter?number=2", "/run?pipeline=penguin&run=given-up", "/artifact?ref=s3://bkt/penguin/Trainer/model/" + digest[7:] + "/a1",
		"/artifact?ref=s3://bkt/penguin/Trainer/model/" + fmt.Sprintf("%064x", 1) + "/a1", "/artifact?ref=s3://bkt/data/penguin/many&page=2", "/artifact?ref=s3://bkt/data/penguin/many/0007-settings.json",
		"/artifact?ref=s3://bkt/data/penguin/transformed_examples/17/Split-train/part-0.gz",
		"/lineage?pipeline=penguin&run=run-0001", "/lineage?pipeline=penguin&run=fine-tuned", "/token", "/runs?q=nothing-like-that",
	} {
		pages = append(pages, w.url+path)
	}
	return pages
}

// giveUp makes a run whose job is given up, and which ignores an event.
func (w *world) giveUp(run string) {
	w.t.Helper()
	second := ready(run)
	second.ID, second.Data = "second", &events.TransformReady{TransformGraph: "s3://bkt/other"}
	w.publish(ready(run), second)
	w.dispatched()
	claim, err := w.bus.Claim(w.t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err == nil {
		err = claim.Term(w.t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "ValueError: boom"})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.publish(failed(run, "ValueError: boom"))
	w.apply(strings.Replace(penguin, "hyperparameters: none", "hyperparameters: none, seed: 7", 1))
	w.apply(strings.Replace(penguin, "hyperparameters: none, custom_config: {", "hyperparameters: none, max_crashes: 9, custom_config: {url: \"postgres://me:"+
		"hunter2@db/x\", hidden_units: [8, 16, 32], note: \"<b>"+strings.Repeat("long ", 40)+strings.Repeat("x", 200)+"\", ", 1))
}

// TestBrowserPressesRerun presses the button of a run that was given up, which starts its inputs
// again as a new run.
func TestBrowserPressesRerun(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.giveUp("given-up")
	w.sees("/run?pipeline=penguin&run=given-up", "ValueError: boom")
	pressed := ask[struct {
		URL, Text     string
		Asked, Errors []string
	}](t, b, "-shots", os.Getenv("STOKER_SHOTS"), "-press", "Rerun with revision 3", "-token", token, "-watch", "given-up-2", w.url+"/run?pipeline=penguin&run=given-up")
	if pressed.URL != w.url+"/run?pipeline=penguin&run=given-up-2" || len(pressed.Errors) > 0 || !strings.Contains(pressed.Text, "transform.ready") {
		t.Errorf("%+v", pressed)
	}
	if len(pressed.Asked) != 1 || !strings.HasPrefix(pressed.Asked[0], "Run the inputs of run given-up again") {
		t.Errorf("the page asked %q", pressed.Asked)
	}
	w.dispatched()
	join, err := runs.Open(w.bus, runs.Options{}).Join(t.Context(), runs.Key{Pipeline: "penguin", Run: "given-up-2"})
	if err != nil || join.Current().Revision != 3 {
		t.Errorf("%+v, %v", join, err)
	}
}

// TestBrowserRetriesAGroup follows a group of dead letters from the list through the question to
// the end of the batch.
func TestBrowserRetriesAGroup(t *testing.T) {
	b := openBrowser(t)
	w, bus := setupRetried(t)
	w.deadLetters(events.FailureModule, "boom 1", "boom 2", "boom 3", "another")
	group := regexp.MustCompile(`href="/dead(\?group=[0-9a-f]+)"`).FindStringSubmatch(w.sees("/dead", "boom #", "another"))[1]
	pressed := ask[struct {
		URL, Text string
		Errors    []string
	}](t, b, "-shots", os.Getenv("STOKER_SHOTS"), "-press", "Retry 3 dead letters", "-token", token, "-watch", "Retried 3 of 3 dead letters", w.url+"/dead/ask"+group+"&do=retry")
	if !strings.HasPrefix(pressed.URL, w.url+"/dead/batch?id=") || len(pressed.Errors) > 0 {
		t.Errorf("%+v", pressed)
	}
	for run, n := range map[string]int{"run-1": 1, "run-2": 1, "run-3": 1, "run-4": 0} {
		if bus.enqueued[run] != n {
			t.Errorf("the job of %s was enqueued %d times, want %d", run, bus.enqueued[run], n)
		}
	}
}

// TestBrowserChoosesRanges chooses ranges on the axes of a study by mouse and by keyboard, and
// another contour plot: the table follows, and the address has all of it.
func TestBrowserChoosesRanges(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	id := w.search(200)
	chosen := ask[struct {
		Dragged, Rows, Keyed, Focused, Cleared, Contour string
		Errors                                          []string
	}](t, b, "-brush", w.url+"/study?pipeline=penguin&id="+id)
	term := regexp.MustCompile(`^[a-z_0-9]+>=[-0-9.e]+ [a-z_0-9]+<=[-0-9.e]+$`)
	if !term.MatchString(chosen.Dragged) || !strings.HasPrefix(chosen.Keyed, chosen.Dragged+" ") || !strings.HasSuffix(chosen.Focused, ", from") ||
		chosen.Cleared != strings.TrimPrefix(chosen.Keyed, chosen.Dragged+" ") || !strings.Contains(chosen.Rows, " of 200") || chosen.Contour == "" || len(chosen.Errors) > 0 {
		t.Errorf("%+v", chosen)
	}
}

// TestBrowserWatchesARun stays on a run's page, which is loaded once, from the first event to the
// model.
func TestBrowserWatchesARun(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.publish(events.Event{ID: "h", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}}})
	w.dispatched()
	cmd := exec.CommandContext(t.Context(), b.program, "-watch", "waits for transform.ready", "-watch", "waits for a worker", "-watch", "step 2 of 4",
		"-watch", "step 3 of 4", "-watch", "0.875", w.url+"/run?pipeline=penguin&run=monday")
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, 256)
	next := func(want string) { // waits for the page before the run continues
		t.Helper()
		n, err := said.Read(heard)
		if err != nil || strings.TrimSpace(string(heard[:n])) != want {
			t.Fatalf("the browser saw %q, %v; want %q", heard[:n], err, want)
		}
	}
	next("waits for transform.ready")
	w.publish(ready("monday"))
	w.dispatched()
	next("waits for a worker")
	claim, err := w.bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	for step := 2; step < 4; step++ {
		p := events.Progress{Job: job.ID, Pipeline: "penguin", Run: "monday", Attempt: "a", Phase: "training", Step: step, Steps: 4, Metrics: map[string]float64{"loss": 1}, Time: time.Now()}
		if err := w.bus.Report(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		next(fmt.Sprintf("step %d of 4", step))
	}
	w.publish(trained("monday"))
	next("0.875")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
