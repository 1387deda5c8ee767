package console

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/dispatch"
)

func TestRevisionsAreListedAndCompared(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	first := strings.Replace(penguin, "hunter2", "hunter1", 1)
	second := strings.Replace(penguin, "hyperparameters: none", "hyperparameters: none, seed: 7", 1)
	third := strings.Replace(second, "label: species", `label: species, "<b>key": "<script>alert(1)</script>", units: [8, 16]`, 1)
	for _, text := range []string{first, second, third} {
		w.apply(text)
	}
	w.sees("/pipeline?name=penguin", `href="/revisions?name=penguin">Revisions`)

	// By default the newest is compared with the one before.
	body := w.sees("/revisions?name=penguin", "From revision 2 to 3", "trainer.custom_config.&lt;b&gt;key", "&#34;&lt;script&gt;alert(1)&lt;/script&gt;&#34;",
		"trainer.custom_config.units", `<code>trainer.custom_config.db_password, trainer.seed</code>`, "stoker pipelines show penguin --revision 3 --diff 2")
	for _, wrong := range []string{"<script>alert", "<b>key", "hunter", "trainer.seed</dt>"} {
		if strings.Contains(body, wrong) {
			t.Errorf("the page holds %s", wrong)
		}
	}
	for i, want := range []string{"3", "2", "1"} {
		if strings.Count(body, "/revisions?name=penguin&amp;to="+want+`"`) != 1 {
			t.Errorf("revision %s is not listed at %d", want, i)
		}
	}
	if strings.Count(body, `<span class="pill trained">applied</span>`) != 1 {
		t.Error("not one revision is the one that is applied")
	}

	body = w.sees("/revisions?name=penguin&from=3&to=1", "From revision 3 to 1", "<dt>trainer.seed</dt>", `was: </span>7</pre>`, `is: </span>0</pre>`,
		"<option selected>1</option>", "<option selected>3</option>", "trainer.custom_config.db_password", `was: </span>&#34;••••••&#34;`)
	if strings.Contains(body, "hunter") {
		t.Error("the page shows a secret")
	}
	w.sees("/revisions?name=penguin&to=1", "There is no earlier revision to compare it with.", "Revision 1")
	w.sees("/revisions?name=penguin&from=2&to=2", "Nothing has changed.")

	for path, status := range map[string]int{
		"/revisions": http.StatusBadRequest, "/revisions?name=../x": http.StatusBadRequest, "/revisions?name=penguin&to=x": http.StatusBadRequest,
		"/revisions?name=penguin&from=-1": http.StatusBadRequest, "/revisions?name=penguin&to=9": http.StatusNotFound,
		"/revisions?name=penguin&from=9": http.StatusNotFound, "/revisions?name=nobody": http.StatusNotFound,
		"/revisions?name=penguin&to=99999999999999999999999": http.StatusBadRequest,
	} {
		if got, _ := w.get(path); got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
	}
}

func TestRevisionsOfARemovedPipelineStay(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	if _, _, err := dispatch.Remove(t.Context(), w.bus, "penguin", false); err != nil {
		t.Fatal(err)
	}
	body := w.sees("/revisions?name=penguin", "the pipeline was removed", "Revision 1")
	if strings.Contains(body, `>applied</span>`) {
		t.Error("a pipeline that was removed is applied")
	}
	if status, _ := w.get("/revisions?name=penguin&to=2"); status != http.StatusNotFound {
		t.Errorf("a removal is shown as a revision: %d", status)
	}
	w.apply(strings.Replace(penguin, "./m", "./other", 1))
	w.sees("/revisions?name=penguin", "From revision 1 to 3", "<dt>module</dt>")
}

func TestOfManyRevisionsTheNewestAreListed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for seed := range maxRevisions + 5 {
		w.apply(strings.Replace(penguin, "hyperparameters: none", "hyperparameters: none, seed: "+strconv.Itoa(seed+1), 1))
	}
	body := w.sees("/revisions?name=penguin&to=2", "5 older revisions are not shown", "From revision 1 to 2", "<option selected>2</option>", "<option selected>1</option>")
	if rows := strings.Count(body, `<div class="number">`); rows != maxRevisions {
		t.Errorf("%d rows", rows)
	}
}
