package console

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func TestARunIsSeenFromItsFirstEventToItsModel(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.sees("/runs", "No runs yet")
	w.apply(penguin)
	w.publish(events.Event{ID: "h", Source: "/up", Pipeline: "penguin", Run: "a/b c", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}}})
	w.dispatched()
	const page = "/run?pipeline=penguin&run=a%2Fb+c"
	w.sees("/runs", "a/b c", "waiting", "waits for transform.ready", page[:5])
	w.sees(page, "Missing: ", "transform.ready")
	w.publish(ready("a/b c"))
	w.dispatched()
	w.sees("/runs", "queued", "waits for a worker of class cpu")
	claim, err := w.bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	w.sees("/runs", "running")
	for step := range 5 {
		p := events.Progress{
			Job: job.ID, Pipeline: "penguin", Run: "a/b c", Attempt: claim.Attempt().ID, Phase: "training", Step: 1000 * (step + 1), Steps: 10000,
			Metrics: map[string]float64{"loss": 1 / float64(step+1)}, Time: time.Unix(int64(1000+step), 0),
		}
		if err := w.bus.Report(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.sees(page, "step 5,000 of 10,000", "1,000 steps/s", "5.0 s left", "loss by step: train 0.2 at step 5000", "attempt 1")
	w.sees("/runs", "step 5,000 of 10,000", `class="spark"`)
	w.publish(trained("a/b c"))
	if err := claim.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.sees("/runs", "trained", "0.875", "2.0 s")
	w.sees(page, "trained", "0.875", "Format-Serving", "models pull penguin --run &#39;a/b c&#39;", "tensorflow_model_server", "tensorboard", "Lineage")
}

func TestAPageIsFollowed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/live/runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %s", kind)
	}
	lines := bufio.NewScanner(answer.Body)
	read := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	read("data: runs-table")
	w.publish(failed("monday", "boom <script>"))
	read("data: runs-table")
	read("boom &lt;script&gt;")
	w.stop() // as when the console is stopped
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream did not end well: %v", err)
	}
}

func TestAFailureIsShownWithItsLogAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.publish(failed("monday", "\x1b[31mValueError\x1b[0m: no <b>label</b> at s3://me:hunter2@host/bkt, password=hunter2\nTraceback ..."))
	body := w.sees("/run?pipeline=penguin&run=monday", "ValueError: no &lt;b&gt;label&lt;/b&gt;", "Traceback", "boom", "runs show monday")
	body += w.sees("/runs", "ValueError")
	w.publish(trained("tuesday"))
	body += w.sees("/run?pipeline=penguin&run=tuesday", "learning_rate", "api_token")
	body += w.sees("/pipeline?name=penguin", "db_password", "species")
	if strings.Contains(body, "hunter2") {
		t.Error("a secret is shown")
	}
}

func TestRunsAreFound(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for _, run := range []string{"monday", "tuesday", "wednesday"} {
		w.publish(ready(run))
	}
	w.publish(trained("tuesday"), failed("wednesday", "out of paper"))
	w.sees("/runs", "all <span class=\"count\">3", "trained", "failed")
	for path, want := range map[string]string{"/runs?q=PAPER": "wednesday", "/runs?state=trained": "tuesday", "/runs?q=mon&pipeline=penguin": "monday"} {
		_, body := w.get(path)
		if !strings.Contains(body, ">"+want+"</a>") || strings.Count(body, "<tr data-run") != 1 {
			t.Errorf("%s does not list %s alone:\n%s", path, want, body)
		}
	}
	_, body := w.get("/runs?pipeline=other")
	if !strings.Contains(body, "No run matches") {
		t.Error(body)
	}
}

func TestInvalidRequestsAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for path, want := range map[string]int{
		"/run": 400, "/run?pipeline=penguin&run=never": 404, "/run?pipeline=..&run=x": 400, "/study?pipeline=penguin&id=*": 400,
		"/study?pipeline=penguin&id=abc": 404, "/pipeline?name=nosuch": 404, "/dead-letter?number=x": 400, "/dead-letter?number=7": 404,
		"/compare?run=x": 400, "/compare?run=a/b&run=%ff": 400, "/nosuch": 404, "/artifact?ref=s3://other/x": 400, "/artifact?ref=s3://bkt/a/../b": 400,
		"/artifact?ref=s3://bkt/nothing": 404, "/lineage?pipeline=nosuch": 404, "/runs?page=-1": 200, "/runs?page=99999999999999999999": 200, "/static/": 404,
		"/static/../console.go": 307,
	} {
		status, body := w.get(path)
		if status != want || status >= 400 && !strings.HasPrefix(path, "/static") && !strings.Contains(body, "<h1>") {
			t.Errorf("%s: %d, want %d: %.200s", path, status, want, body)
		}
	}
}
