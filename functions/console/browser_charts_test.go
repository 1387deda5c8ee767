//go:build browser

package console

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// on runs a script on a page, and reads what it returns.
func on[T any](t *testing.T, b browser, address, script string) (found T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.js")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := ask[struct {
		Found  json.RawMessage
		Errors []string
	}](t, b, "-evaluate", path, address)
	if err := json.Unmarshal(answer.Found, &found); err != nil || len(answer.Errors) > 0 {
		t.Fatal(err, answer.Errors)
	}
	return found
}

// chartPage makes a run with curves, and returns its page.
func chartPage(t *testing.T) string {
	t.Helper()
	w := setup(t, nil)
	w.logRun("s3://bkt/penguin/Trainer/model_run/1", 0.5)
	w.publish(ready("monday"), logged12(trained("monday"), 1))
	w.sees("/run?pipeline=penguin&run=monday", "data-chart", "logarithmic")
	return w.url + "/run?pipeline=penguin&run=monday"
}

// paths returns the lines of the first chart, and ticks of its vertical axis.
const paths = `
const settle = () => new Promise(done => setTimeout(done, 300));
const place = document.querySelector('[data-chart]');
const shown = () => ({
  lines: [...place.querySelectorAll('path.line')].map(one => one.className.baseVal + ' ' + one.getAttribute('d')),
  ticks: [...place.querySelectorAll('.tick.end')].map(one => one.textContent),
  steps: [...place.querySelectorAll('.tick.middle')].map(one => one.textContent),
  address: location.search, size: Math.round(place.closest('figure').getBoundingClientRect().height),
});
const set = (name, value) => { const field = document.querySelector('form.tools').elements[name]; field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); };
`

type shownChart struct {
	Lines, Ticks, Steps []string
	Address             string
	Size                int
}

// TestBrowserSetsTheViewOfCharts sets scale, smoothing and zoom. They are in the address, from
// which a reload restores them, and nothing moves.
func TestBrowserSetsTheViewOfCharts(t *testing.T) {
	b, page := openBrowser(t), chartPage(t)
	seen := on[[]shownChart](t, b, page, paths+`
const all = [shown()];
set('scale', 'log'); await settle(); all.push(shown());
set('smooth', '0.6'); await settle(); all.push(shown());
place.focus();
place.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true})); await settle(); all.push(shown());
return all;`)
	plain, log, smooth, zoomed := seen[0], seen[1], seen[2], seen[3]
	if slices.Equal(plain.Lines, log.Lines) || !slices.Contains(log.Ticks, "0.2") || !strings.Contains(log.Address, "scale=log") {
		t.Errorf("linear %+v\nlogarithmic %+v", plain.Ticks, log)
	}
	faint := func(c shownChart) (n int) {
		for _, line := range c.Lines {
			if strings.Contains(line, "faint") {
				n++
			}
		}
		return n
	}
	if faint(log) != 0 || faint(smooth) != 2 || !strings.Contains(smooth.Address, "smooth=0.6") {
		t.Errorf("smoothed %+v", smooth)
	}
	if slices.Equal(zoomed.Steps, smooth.Steps) || !strings.Contains(zoomed.Address, "zoom=") {
		t.Errorf("zoomed %+v", zoomed)
	}
	for _, one := range seen {
		if one.Size != plain.Size {
			t.Errorf("a chart of %d pixels has %d", plain.Size, one.Size)
		}
	}
	again := on[shownChart](t, b, strings.Split(page, "?")[0]+zoomed.Address, paths+`return shown();`)
	if !slices.Equal(again.Lines, zoomed.Lines) || !slices.Equal(again.Steps, zoomed.Steps) {
		t.Errorf("its address shows\n%+v\nwant\n%+v", again, zoomed)
	}
}

// TestBrowserSavesCharts presses the buttons by which a chart is saved, and reads the files.
func TestBrowserSavesCharts(t *testing.T) {
	b, page := openBrowser(t), chartPage(t)
	saved := on[map[string]string](t, b, page, paths+`
const files = {}, blobs = [];
const made = URL.createObjectURL;
URL.createObjectURL = blob => { blobs.push(blob); return made.call(URL, blob); };
document.addEventListener('click', e => { if (e.target.download) { e.preventDefault(); files[e.target.download] = blobs.at(-1); } }, true);
HTMLAnchorElement.prototype.click = function () { files[this.download] = blobs.at(-1); };
for (const text of ['Data as CSV', 'Picture as SVG', 'Picture as PNG']) {
  [...document.querySelectorAll('details.more button')].find(one => one.textContent === text).click();
  for (let i = 0; i < 50 && Object.keys(files).length === 0; i++) await settle();
  await settle();
}
await settle();
const out = {};
for (const name in files) out[name] = name.endsWith('.png') ? files[name].type + ' ' + files[name].size : await files[name].text();
return out;`)
	csv := strings.Split(saved["loss-by-step.csv"], "\n")
	if len(csv) != 62 || csv[0] != "step,loss train,loss validation" || strings.Count(csv[1], ",") != 2 {
		t.Errorf("%d lines: %q", len(csv), csv[:min(3, len(csv))])
	}
	if svg := saved["loss-by-step.svg"]; !strings.HasPrefix(svg, "<svg") || strings.Contains(svg, "class=") || !strings.Contains(svg, "loss by step") {
		t.Errorf("%.300s", svg)
	}
	if png := saved["loss-by-step.png"]; !strings.HasPrefix(png, "image/png ") || len(png) < len("image/png 9999") {
		t.Errorf("%q of %d files", png, len(saved))
	}
}

// TestBrowserSavesDrawings opens the menu of each drawing of a study, takes the pictures from it,
// and copies a table.
func TestBrowserSavesDrawings(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	page := "/study?pipeline=penguin&id=" + w.search(40)
	w.sees(page, "39 completed of 40")
	saved := on[struct {
		Pictures map[string]string
		Copied   string
		Open     int
		Focus    string
	}](t, b, w.url+page, `
const until = async holds => { while (!holds()) await new Promise(done => setTimeout(done, 20)); };
const pictures = {}, blobs = [], made = URL.createObjectURL;
URL.createObjectURL = blob => { blobs.push(blob); return made.call(URL, blob); };
let copied = '';
navigator.clipboard.writeText = async text => { copied = text; };
await until(() => document.querySelector('[data-copy]:not([hidden])'));
for (const button of document.querySelectorAll('[data-png]')) {
  const menu = button.closest('details'), many = blobs.length;
  menu.open = true;
  button.click();
  await until(() => blobs.length > many && !menu.open);
  const image = await createImageBitmap(blobs.at(-1));
  pictures[button.dataset.name] = blobs.at(-1).type + ' ' + image.width + 'x' + image.height;
}
const copy = document.querySelector('[data-copy]');
copy.closest('details').open = true;
copy.click();
await until(() => copied && !copy.closest('details').open);
return {pictures, copied, open: document.querySelectorAll('details.more[open]').length, focus: document.activeElement.getAttribute('aria-label') || ''};`)
	for name, want := range map[string]string{
		"slice-0.png": "image/png 680x440", "contour.png": "image/png 1120x800", "parallel-coordinates.png": "image/png 2200x600", "steps.png": "image/png 2200x600", "timeline.png": "image/png 2200x",
	} {
		if !strings.HasPrefix(saved.Pictures[name], want) {
			t.Errorf("%s: %q, want %q", name, saved.Pictures[name], want)
		}
	}
	if !strings.HasPrefix(saved.Copied, "parameter\tshare_of_variance") || saved.Open != 0 || saved.Focus != "Save importance" {
		t.Errorf("%+v", saved)
	}
}

// TestBrowserDrawsWhatIsInSight reads the page of a study from its top to its end: drawings are
// made where the reader is, all of them for paper, and nothing moves.
func TestBrowserDrawsWhatIsInSight(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	page := "/study?pipeline=penguin&id=" + w.search(200)
	w.sees(page, "of 200")
	const empty = "print [...document.querySelectorAll('svg.study-picture:empty')].map(one => one.dataset.key).join()"
	steps := []string{
		"until !!document.querySelector('.canvas.drawn') && [...document.querySelectorAll('.slices > svg')].every(one => one.childElementCount > 0)", empty,
		"print (document.querySelector('.contour-card').scrollIntoView(), 'contour')", "until !!document.querySelector('svg.contour path')",
		"print (document.querySelector('.coords-wrap').scrollIntoView(), 'coordinates')", "until !!document.querySelector('.coords-place canvas')",
		"print dispatchEvent(new Event('beforeprint'))", empty,
		"print (document.getElementById('study-table').scrollIntoView(), document.querySelectorAll('#study-table tbody tr').length)",
		"print window.shifted < 0.01 || window.shifted",
	}
	want := `"contour,steps,timeline" "contour" "coordinates" true "" 50 true`
	if got := strings.Join(printedBy(t, steps, b.steps(t, w.url+page, steps, nil)), " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
