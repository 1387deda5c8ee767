package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// applyFile applies a text, and sends another one along as its file if sent is not "".
func (w *world) applyFile(text, sent string) {
	w.t.Helper()
	spec, err := pipeline.Parse("p.yaml", []byte(text))
	if sent == "" {
		sent = text
	}
	if err == nil {
		_, _, err = dispatch.ApplyFrom(w.t.Context(), w.bus, spec, pipeline.Origin{Source: sent, File: "penguin.yaml", User: "ana", Host: "<b>laptop", Client: "stoker apply"})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestTheFileOfARevisionIsShownAndCompared(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.applyFile("# The <i>first</i>.\n"+penguin, "")
	w.applyFile("# The second; password: hunter2 hunter2\n"+strings.Replace(penguin, "label: species", "label: island", 1), "")
	body := w.sees("/pipeline?name=penguin", "The file as it was applied", "# The second; password: ••••••", "label: island", "ana@&lt;b&gt;laptop", "from penguin.yaml")
	if strings.Contains(body, "hunter2") || strings.Contains(body, "not what was applied") {
		t.Error("the page shows a secret, or doubts the file")
	}
	body = w.sees("/revisions?name=penguin", "In the file", `<span class="was">− # The &lt;i&gt;first&lt;/i&gt;.`, `<span class="is">&#43; # The second`, "In effect", "trainer.custom_config.label", "nobody has checked them")
	if strings.Contains(body, "hunter2") || strings.Contains(body, "<b>laptop") || strings.Contains(body, "<i>first") {
		t.Error("the page shows a secret, or takes a text for HTML")
	}
}

// TestAHostileFileIsDoubtedAndHarmless applies pipelines with files that do not give them.
func TestAHostileFileIsDoubtedAndHarmless(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"another pipeline": strings.Replace(penguin, "species", "island", 1),
		"not YAML":         "</pre><script>alert(1)</script>\x1b[2J\x00\u202edrowssap\n{{{",
		"huge lines":       "a: " + strings.Repeat("x", pipeline.MaxSource-10),
		"many lines":       strings.Repeat("- a\n", pipeline.MaxSource/4),
		"deep":             strings.Repeat("[", 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, nil)
			w.applyFile(penguin, "")
			w.applyFile(strings.Replace(penguin, "label: species", "label: sex", 1), sent)
			body := w.sees("/pipeline?name=penguin", "This text is not what was applied", "&#34;label&#34;: &#34;sex&#34;")
			body += w.sees("/revisions?name=penguin", "This text is not what was applied", "In effect")
			for _, wrong := range []string{"<script>alert", "\x1b", "\x00", "\u202e", "hunter2"} {
				if strings.Contains(body, wrong) {
					t.Errorf("the pages hold %q", wrong)
				}
			}
			if len(body) > 8*pipeline.MaxSource {
				t.Errorf("%d KiB", len(body)>>10)
			}
		})
	}
}

func TestAModuleThatWasUploadedIsNoMismatch(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.applyFile(strings.Replace(penguin, "./m", "s3://bkt/modules/01/m", 1), penguin)
	body := w.sees("/pipeline?name=penguin", "The file names the module <code>./m</code>, which was applied as <code>s3://bkt/modules/01/m</code>")
	if strings.Contains(body, "not what was applied") {
		t.Error("the file is doubted")
	}
}

func TestARevisionIsAppliedAgainAndAPipelineRemoved(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.applyFile(penguin, "")
	w.applyFile(strings.Replace(penguin, "label: species", "label: island", 1), "")
	const ask = "/pipeline/rollback?name=penguin&revision=1"
	if body := w.sees(ask, "Apply revision 1 of penguin again?", "Revision 2 is applied now", "From revision 2 to 1", "Enter token to act"); strings.Contains(body, `action="/rollback"`) {
		t.Error("the button is shown without the token")
	}
	if _, body := w.get(ask, w.trusted); !strings.Contains(body, `name="applied" value="2"`) {
		t.Error("the form does not hold the applied revision")
	}
	form := url.Values{"pipeline": {"penguin"}, "revision": {"1"}, "applied": {"2"}}
	elsewhere := func(r *http.Request) { w.trusted(r); r.Header.Set("Origin", "https://evil.example") }
	for _, path := range []string{"/rollback", "/remove"} {
		if status, _ := w.post(path, form); status != http.StatusUnauthorized {
			t.Errorf("%s as nobody: %d", path, status)
		}
		if status, _ := w.post(path, form, elsewhere); status != http.StatusForbidden {
			t.Errorf("%s from another site: %d", path, status)
		}
		if status, _ := w.post(path, url.Values{"pipeline": {"../x"}}, w.trusted); status != http.StatusBadRequest {
			t.Errorf("%s of a bad name: %d", path, status)
		}
	}
	if status, body := w.post("/rollback", form, w.trusted); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	w.sees("/revisions?name=penguin", "From revision 2 to 3", "with console", "as revision 1")
	if status, _ := w.post("/rollback", form, w.trusted); status != http.StatusConflict {
		t.Errorf("over a revision that is not applied any more: %d", status)
	}
	if status, _ := w.post("/rollback", url.Values{"pipeline": {"penguin"}, "revision": {"77"}, "applied": {"3"}}, w.trusted); status != http.StatusNotFound {
		t.Errorf("to no revision: %d", status)
	}

	w.publish(events.Event{ID: "h", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}}})
	w.dispatched()
	w.sees("/pipeline/remove?name=penguin", "Remove penguin?", "1 of its runs has not ended", "models, runs, studies, events and revisions are kept")
	if _, body := w.get("/pipeline/remove?name=penguin", w.trusted); !strings.Contains(body, `name="applied" value="3"`) {
		t.Error("the form does not hold the applied revision")
	}
	remove := url.Values{"pipeline": {"penguin"}, "applied": {"2"}, "cancel": {"1"}}
	if status, _ := w.post("/remove", remove, w.trusted); status != http.StatusConflict {
		t.Errorf("of a revision that is not applied any more: %d", status)
	}
	remove = url.Values{"pipeline": {"penguin"}, "applied": {"3"}}
	if status, body := w.post("/remove", remove, w.trusted); status != http.StatusConflict || !strings.Contains(body, "has active runs (1)") {
		t.Errorf("with an active run: %d", status)
	}
	remove.Set("cancel", "1")
	if status, body := w.post("/remove", remove, w.trusted); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	w.sees("/pipelines", "No pipeline is applied", "<h2>Removed</h2>")
	w.sees("/pipeline?name=penguin", "It was removed")
	w.sees("/run?pipeline=penguin&run=monday", "cancelled")
	if status, _ := w.post("/remove", remove, w.trusted); status != http.StatusNotFound {
		t.Errorf("twice: %d", status)
	}
	w.sees(ask, "The pipeline was removed: this restores it")
	restore := url.Values{"pipeline": {"penguin"}, "revision": {"1"}, "applied": {"0"}}
	if status, _ := w.post("/rollback", restore, w.trusted); status != http.StatusSeeOther {
		t.Errorf("a removed pipeline: %d", status)
	}
	if status, _ := w.post("/rollback", url.Values{"pipeline": {"penguin"}, "revision": {"2"}, "applied": {"0"}}, w.trusted); status != http.StatusConflict {
		t.Errorf("a pipeline that was restored meanwhile: %d", status)
	}
	w.eventually("it is listed again", func() bool { _, body := w.get("/pipelines"); return !strings.Contains(body, "<h2>Removed</h2>") })
}

func TestAMistypedPipelineIsNoPipeline(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	for _, name := range []string{"pengiun", "other-name"} {
		w.publish(events.Event{ID: "x-" + name, Source: "/up", Pipeline: name, Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}})
	}
	body := w.sees("/pipelines", "Events for unknown pipelines", "<b>pengiun</b>", `did you mean <a href="/pipeline?name=penguin">penguin</a>?`, "<b>other-name</b>", "/dead?by=letter&amp;pipeline=pengiun")
	if n := strings.Count(body, `<th scope="row">`); n != 1 {
		t.Errorf("%d pipelines are listed", n)
	}
	if n := strings.Count(body, "did you mean"); n != 1 {
		t.Errorf("%d suggestions", n)
	}
	if body := w.sees("/pipeline?name=pengiun", "was ever applied, but events name it: did you mean"); strings.Contains(body, "Remove</a>") {
		t.Error("an unknown pipeline can be removed")
	}
	if status, _ := w.get("/pipeline/remove?name=pengiun"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

func TestADiffShowsWhatHasChanged(t *testing.T) {
	t.Parallel()
	shown := func(lines []diffLine) string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l.Mark() + l.Text + "|")
		}
		return b.String()
	}
	var numbered []string
	for i := range 20 {
		numbered = append(numbered, fmt.Sprint(i))
	}
	long := strings.Join(numbered, "\n") + "\n"
	for name, tc := range map[string]struct{ before, after, want string }{
		"equal":   {long, long, ""},
		"one":     {long, strings.Replace(long, "10\n", "ten\n", 1), "⋯| 7| 8| 9|−10|+ten| 11| 12| 13|⋯|"},
		"added":   {"a\nb\n", "a\nx\nb\n", " a|+x| b|"},
		"removed": {"a\nx\nb\n", "a\nb\n", " a|−x| b|"},
		"all":     {"a\n", "b\n", "−a|+b|"},
		"two":     {"a\nb\nc\nd\n", "a\nB\nc\nD\n", " a|−b|+B| c|−d|+D|"},
	} {
		if got := shown(unifiedDiff(tc.before, tc.after)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	// The largest texts whose lines all differ.
	one, two := strings.Repeat("a\n", 32<<10), strings.Repeat("b\n", 32<<10)
	if lines := unifiedDiff(one, two); len(lines) != maxDiffLines+1 {
		t.Errorf("%d lines", len(lines))
	}
	if !regexp.MustCompile(`^[+−]`).MatchString(shown(unifiedDiff(one, two)[:1])) {
		t.Error("no line is marked")
	}
}
