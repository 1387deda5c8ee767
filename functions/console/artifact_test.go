package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

func TestAnArtifactNamesItsMakerAndItsReaders(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.descended()
	base := fmt.Sprintf("s3://bkt/penguin/Trainer/model/%064x/a1", 1)
	w.sees("/artifact?ref="+base, "Model of penguin/base", `<a href="/run?pipeline=penguin&amp;run=base">base</a>`, ">Trainer<", "1 min 0 s", "<dt>Host</dt><dd>gpu-7</dd>", "<dt>Keras</dt><dd>3.9.2</dd>",
		`<a href="/run?pipeline=penguin&amp;run=fine-tuned">penguin/fine-tuned</a>`, // reads it
		"/artifact?ref=s3%3A%2F%2Fbkt%2Fdata%2Fpenguin%2Fschema%2F17",               // was read
		"2 files", `<code>`+base+`</code>`, "/lineage?pipeline=penguin&amp;run=base")
	w.sees("/run?pipeline=penguin&run=base", `<th scope="row">Host</th><td><code>gpu-7</code>`, `<th scope="row">Python</th><td><code>3.11.7</code>`, `<th scope="row">GPUs that it could use</th><td><code>0, 1</code>`)
	w.sees("/artifact?ref="+base+"/Format-Serving/saved_model.pb", "<h1>saved_model.pb</h1>", "Part of", ">base</a>", "A binary file")
	w.sees("/artifact?ref=s3://bkt/data/penguin/transformed_examples/17", "a program other than Stoker", "penguin/base", "penguin/fine-tuned", ">examples<")
	w.sees("/artifact?ref=s3://bkt/data/penguin/transformed_examples/17/Split-train/part-0.gz", "penguin/base", "penguin/fine-tuned",
		"first 3 records", `<code>culmen_length_mm</code></th><td>int64</td><td class="num">3</td><td class="num">3</td>`)
	w.sees("/artifact?ref=s3://bkt/data/penguin/schema/17", "feature { name: &#34;changed&#34; }", ">schema<", "penguin/base")
	if _, page := w.get("/artifact?ref=s3://bkt/data/penguin/schema/17"); strings.Contains(page, "penguin/fine-tuned") {
		t.Error("the schema is read by a run that has not read it")
	}
	w.shelve(base+"/Format-Serving/variables/variables.index", "another")
	w.sees("/artifact?ref="+base, "not what its manifest says", "Format-Serving/saved_model.pb", "Model of penguin/base")
	w.publish(trained("base"))
	w.shelve("s3://bkt/broken/model/"+digest[7:]+"/a1/x", "of no manifest")
	w.sees("/artifact?ref=s3://bkt/broken/model/"+digest[7:]+"/a1", "not known any more")
}

// Files of others are shown as text, escaped and without secrets.
func TestAFileIsShownAsText(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.shelve("s3://bkt/own/x.html", "<script>alert(1)</script>\npassword: hunter2\n")
	w.shelve("s3://bkt/own/x.json", `{"api_key": "hunter2", "x": "<b>"}`)
	for path, want := range map[string]string{
		"x.html": "&lt;script&gt;alert(1)&lt;/script&gt;\npassword: " + mask.Hidden, "x.json": "{\n  &#34;api_key&#34;: &#34;" + mask.Hidden + "&#34;,\n  &#34;x&#34;: &#34;&lt;b&gt;&#34;\n}",
	} {
		status, page := w.get("/artifact?ref=s3://bkt/own/" + path)
		if status != http.StatusOK || !strings.Contains(page, want) || strings.Contains(page, "hunter2") || strings.Contains(page, "<script>alert") {
			t.Errorf("%s: %d: %s", path, status, page)
		}
	}
}

func TestTheFilesOfAnArtifactArePagedAndBounded(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for i := range maxFiles + 1 {
		w.shelve(fmt.Sprintf("s3://bkt/many/%05d", i), "x")
	}
	_, page := w.get("/artifact?ref=s3://bkt/many&page=50")
	for _, want := range []string{"more than 10,000 files", ">09999</a>", "9,801–10,000 of 10,000", `rel="prev"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, ">10000</a>") || strings.Count(page, "<tr>") != filesPerPage+1 {
		t.Errorf("the page has %d rows", strings.Count(page, "<tr>"))
	}
}

func TestARunNamesItsWorker(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.holds("gpu-7", w.claimed("active"))
	w.sees("/run?pipeline=penguin&run=active", `<dt>Worker</dt><dd><a href="/workers/gpu-7-k3f9qz">gpu-7</a></dd>`,
		`<th scope="row">Host</th><td><code>gpu-7</code>`, `<th scope="row">Stoker</th><td><code>v1.2.0</code>`)
}
