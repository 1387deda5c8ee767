package console

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

const (
	token  = "a token of the test"
	digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// world is a console on a bus and a store in memory, with a running follower and server.
type world struct {
	*Console
	t     testing.TB
	bus   *bustest.Memory
	store storage.Store
	url   string
}

func setup(t testing.TB, change func(*Options)) *world {
	t.Helper()
	w := &world{t: t, bus: bustest.NewMemory(0), store: storagetest.NewMemory("bkt", "other")}
	opts := Options{Bus: w.bus, Store: w.store, Root: storage.Ref{Bucket: "bkt"}, Token: token, Readers: Everybody, Quietest: time.Millisecond}
	if change != nil {
		change(&opts)
	}
	var err error
	if w.Console, err = New(opts); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	followed := make(chan error, 1)
	go func() { followed <- w.Run(ctx) }()
	server := w.serveTest()
	w.url = server.URL
	t.Cleanup(func() {
		stop()
		if err := <-followed; err != nil {
			t.Errorf("follower: %v", err)
		}
		server.Close()
	})
	return w
}

// serveTest serves the console, with the settings of its own server.
func (w *world) serveTest() *httptest.Server {
	server := httptest.NewUnstartedServer(nil)
	server.Config = w.server()
	server.Start()
	return server
}

// apply deploys a pipeline.
func (w *world) apply(text string) {
	w.t.Helper()
	spec, err := pipeline.Parse("p.yaml", []byte(text))
	if err == nil {
		_, _, err = dispatch.Apply(w.t.Context(), w.bus, spec)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

const penguin = "pipeline: penguin\nmodule: ./m\ntrainer: {hyperparameters: none, custom_config: {db_password: hunter2, label: species}}\n"

func (w *world) publish(evs ...events.Event) {
	w.t.Helper()
	for _, event := range evs {
		if _, err := w.bus.Publish(w.t.Context(), event); err != nil {
			w.t.Fatal(err)
		}
	}
}

// dispatched handles all events, as a dispatcher does.
func (w *world) dispatched() {
	w.t.Helper()
	d, err := dispatch.New(w.t.Context(), w.bus, nil)
	for err == nil {
		err = d.Next(w.t.Context(), 0)
	}
	if !errors.Is(err, events.ErrEmpty) {
		w.t.Fatal(err)
	}
}

func ready(run string) events.Event {
	return events.Event{ID: "f-" + strings.NewReplacer(" ", "", "/", "").Replace(run), Source: "/up", Pipeline: "penguin", Run: run, Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
}

func trained(run string) events.Event {
	return events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: run}, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/penguin/Trainer/model/" + digest[7:] + "/a1", Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{}, Module: "m", Metrics: map[string]float64{"accuracy": 0.875, "loss": 0.25},
		Hyperparameters: map[string]any{"learning_rate": 0.01, "api_token": "hunter2"}, Started: time.Unix(10, 0), Finished: time.Unix(12, 0),
	})
}

func failed(run, message string) events.Event {
	return events.Event{ID: "e-" + run, Source: events.Source(events.FunctionTrain), Pipeline: "penguin", Run: run, Data: &events.TrainingFailed{
		Failed: events.Failed{Reason: events.FailureModule, Message: message, LogTail: "the log says: password=hunter2\nboom", Attempt: 1},
	}}
}

// get reads a page.
func (w *world) get(path string, change ...func(*http.Request)) (status int, body string) {
	w.t.Helper()
	status, body, _ = w.ask(http.MethodGet, path, nil, change...)
	return status, body
}

func (w *world) post(path string, form url.Values, change ...func(*http.Request)) (status int, body string) {
	w.t.Helper()
	status, body, _ = w.ask(http.MethodPost, path, form, change...)
	return status, body
}

// ask sends a request, and follows no redirect.
func (w *world) ask(method, path string, form url.Values, change ...func(*http.Request)) (status int, body string, header http.Header) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, one := range change {
		one(request)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

// trusted makes a request that of a browser with the token.
func (w *world) trusted(r *http.Request) {
	id, ok := w.sessions.login(token)
	if !ok {
		w.t.Error("the token is refused")
	}
	named := *r
	named.Host = cmp.Or(r.Host, r.URL.Host)
	r.AddCookie(cookie(&named, id))
}

// patience is how long tests wait for an effect, unless the page has stayed as it is for settles:
// only a failure waits so long, and a busy machine may show nothing new for a minute.
const patience, settles = 8 * time.Minute, 3 * time.Minute

// waiting is a wait for an effect that a page shows.
type waiting struct {
	begun, changed time.Time
	shown          string
}

// over reports whether the wait ends without the effect: the page has not changed for a while
// but for its times, or patience has passed.
func (p *waiting) over(now time.Time, page string) bool {
	if p.begun.IsZero() {
		p.begun = now
	}
	if page = clocks.ReplaceAllString(page, ""); page != p.shown || p.changed.IsZero() {
		p.shown, p.changed = page, now
	}
	return now.Sub(p.changed) >= settles || now.Sub(p.begun) >= patience
}

// clocks matches what changes on a page on which nothing happens.
var clocks = regexp.MustCompile(`data-now="[^"]*"|<time [^>]*>[^<]*</time>`)

// sees waits until a page contains texts.
func (w *world) sees(path string, want ...string) string {
	w.t.Helper()
	for wait := (waiting{}); ; time.Sleep(time.Millisecond) {
		_, body := w.get(path)
		lacks := lacking(body, want)
		if len(lacks) == 0 {
			return body
		}
		if wait.over(time.Now(), body) {
			w.t.Fatalf("%s never says %q:\n%s", path, lacks, body)
		}
	}
}

func lacking(body string, want []string) (lacks []string) {
	for _, text := range want {
		if !strings.Contains(body, text) {
			lacks = append(lacks, text)
		}
	}
	return lacks
}

// eventually waits until something holds. The overview shows whether anything happens meanwhile.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	wait, looked := waiting{}, time.Now()
	for ; !holds(); time.Sleep(time.Millisecond) {
		if time.Since(looked) < time.Second {
			continue
		}
		looked = time.Now()
		if _, overview := w.get("/"); wait.over(looked, overview) {
			w.t.Fatalf("never: %s; the overview shows\n%s", what, overview)
		}
	}
}

func TestAWaitEndsOnceThePageHasSettled(t *testing.T) {
	t.Parallel()
	wait, begun := waiting{}, time.Now()
	page := func(now time.Time, text string) string {
		return `<body data-now="` + now.String() + `">` + text + string(ago(begun, now)) + `</body>`
	}
	for _, step := range []struct {
		after time.Duration
		text  string
		over  bool
	}{{0, "one", false}, {settles - 1, "one", false}, {settles - 1, "two", false}, {2*settles - 2, "two", false}, {2*settles - 1, "two", true}} {
		now := begun.Add(step.after)
		if over := wait.over(now, page(now, step.text)); over != step.over {
			t.Errorf("after %s: %t", step.after, over)
		}
	}
	wait = waiting{}
	for i := range 12 { // it changes all the time
		now := begun.Add(time.Duration(i) * 50 * time.Second)
		if over := wait.over(now, page(now, now.String())); over != (now.Sub(begun) >= patience) {
			t.Errorf("after %s: %t", now.Sub(begun), over)
		}
	}
}

// shelve puts an object into the store.
func (w *world) shelve(address, text string) {
	w.t.Helper()
	ref, err := storage.ParseRef(address)
	if err == nil {
		_, err = w.store.Put(w.t.Context(), ref, strings.NewReader(text), int64(len(text)))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// logRun writes the run log of a training into the store: a loss that falls, in train and
// validation, and an accuracy.
func (w *world) logRun(address string, seed float64) {
	w.t.Helper()
	for part, off := range map[string]float64{"train": 0, "validation": 0.08} {
		dir := filepath.Join(w.t.TempDir(), part)
		log, err := tfevents.Open(dir, tfevents.Options{})
		for step := int64(1); step <= 60 && err == nil; step++ {
			loss := 0.2 + off + (1+seed)*math.Exp(-float64(step)/(12+9*seed)) + 0.03*math.Sin(float64(step)*(1.3+seed))
			err = errors.Join(log.Scalar(100*step, "batch_loss", loss), log.Scalar(100*step, "batch_accuracy", 1-loss/3))
		}
		if err == nil {
			err = log.Close()
		}
		files, globErr := filepath.Glob(filepath.Join(dir, "*"))
		if err = errors.Join(err, globErr); err != nil {
			w.t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				w.t.Fatal(err)
			}
			w.shelve(address+"/"+part+"/"+filepath.Base(file), string(text))
		}
	}
}
