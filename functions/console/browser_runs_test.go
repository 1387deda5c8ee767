//go:build browser

package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// steps has the browser do steps on a page, and calls functions after some of them: the browser
// does not wait for a function, so a step that depends on it waits by itself. It returns what each
// step said.
func (b browser) steps(t *testing.T, url string, steps []string, after map[string]func()) (said []string) {
	t.Helper()
	var args []string
	for _, step := range steps {
		args = append(args, "-step", step)
	}
	cmd := exec.CommandContext(t.Context(), b.program, append(args, url)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		step := steps[len(said)]
		said = append(said, lines.Text())
		if do := after[step]; do != nil {
			do()
		}
	}
	if err := cmd.Wait(); err != nil || len(said) != len(steps) {
		t.Fatalf("after %q: %v", said, err)
	}
	return said
}

// printedBy returns the values that steps have printed, by the text of the steps.
func printedBy(t *testing.T, steps, said []string) (values []string) {
	t.Helper()
	for i, step := range steps {
		if strings.HasPrefix(step, "print ") {
			values = append(values, said[i])
		}
	}
	return values
}

// many publishes finished runs, and waits until the console knows them.
func (w *world) many(from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		run := fmt.Sprintf("run-%03d", i)
		w.publish(ready(run), logged12(trained(run), i))
	}
	w.eventually("all runs are known", func() bool { return len(w.model.snapshot()) >= to })
}

func TestBrowserTakesKeys(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.many(0, 5)
	const focus = "print document.activeElement.innerText"
	steps := []string{
		"until document.body.dataset.keys === 'on'",
		"key j", focus, "key j", focus, "key k", focus, "key x", "until document.querySelector('.compare').innerText === 'Compare 1 run'",
		"key t", "print /^\\w+ \\d+/.test(document.querySelector('td time').innerText)", "key t", "print document.querySelector('td time').innerText.includes('now') || document.querySelector('td time').innerText.includes('ago')",
		"key /", "print document.activeElement.id", "write jx?", "print document.activeElement.value + document.querySelectorAll('dialog').length",
		"click h1", "key ?", "until document.querySelector('dialog').open", "print document.querySelector('dialog').innerText.includes('Go to Studies')",
		"click dialog input", "key Escape", "until !document.querySelector('dialog').open", "key j", "print document.activeElement.closest('tr') === null",
		"key Tab", "click #keys", "until document.querySelector('dialog').open", "click dialog input", "key Escape", "until !document.querySelector('dialog').open",
		"click h1", "key g", "key s", "until location.pathname === '/studies' && document.readyState === 'complete'",
		"go " + w.url + "/runs", "until document.body.dataset.keys === 'on'", "print document.querySelector('.compare').innerText",
		"key j", "key Enter", "until location.search.includes('run=run-004')",
	}
	want := `"run-004" "run-003" "run-004" true true "q" "jx?0" true true "Compare 1 run"`
	if got := strings.Join(printedBy(t, steps, b.steps(t, w.url+"/runs", steps, nil)), " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestBrowserKeepsWhatIsReadInPlace chooses runs on two pages, and reads a list while runs arrive.
func TestBrowserKeepsWhatIsReadInPlace(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.many(0, 80)
	const first = "print document.querySelector('tbody tr').dataset.run"
	arrives := "print 'one arrives'"
	more := "print 'more arrive'"
	steps := []string{
		"until document.querySelector('tbody tr').dataset.run === 'penguin/run-079'",
		"click tr[data-run='penguin/run-079'] input", "click tr[data-run='penguin/run-078'] input", "click a[rel=next]",
		"until location.search.includes('cursor=') && !!document.querySelector(`tr[data-run='penguin/run-010']`)", "click tr[data-run='penguin/run-010'] input",
		"until document.querySelector('.compare').innerText === 'Compare 3 runs'", "click a[rel=prev]", "until !location.search.includes('cursor=') && document.readyState === 'complete'",
		"until document.querySelectorAll('tbody input:checked').length === 2",
		"hover tbody tr:nth-child(3) td.took, tbody tr:nth-child(3) td.num", arrives, "until document.getElementById('held').innerText === '1 new · show'", first,
		"print document.querySelectorAll('tbody input:checked').length", "hover h1", "until document.querySelector('tbody tr').dataset.run === 'penguin/run-080'",
		"print document.getElementById('held').hidden", more, "until document.querySelector('tbody tr').dataset.run === 'penguin/run-089'",
		"print window.shifted < 0.01 || window.shifted", "click .compare", "until location.pathname === '/compare'", "print new URLSearchParams(location.search).getAll('run').join()",
	}
	said := b.steps(t, w.url+"/runs", steps, map[string]func(){arrives: func() { w.many(80, 81) }, more: func() { w.many(81, 90) }})
	got := strings.Join(printedBy(t, steps, said), " ")
	want := `"one arrives" "penguin/run-079" 2 true "more arrive" true "penguin/run-079,penguin/run-078,penguin/run-010"`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestBrowserRemembersColumns chooses columns once, and gets them again.
func TestBrowserRemembersColumns(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.many(0, 5)
	const heads = "print [...document.querySelectorAll('thead th:not(:first-child)')].map(one => one.innerText.trim().replace(/[▲▼]/, '')).join()"
	steps := []string{
		heads, "click .tools details:last-child summary", "click input[value='metric.loss']", "click input[value=progress]", "click #columns .primary",
		"until location.search.includes('metric.loss')", heads, "go " + w.url + "/runs?q=run", "until location.search.includes('metric.loss') && location.search.includes('q=run')", heads,
		"click .tools details:last-child summary", "click #usual", "until location.search.includes('columns=usual') && localStorage.getItem('stoker.columns') === null", "go " + w.url + "/runs", heads,
	}
	var got []string
	for _, value := range printedBy(t, steps, b.steps(t, w.url+"/runs", steps, nil)) {
		var text string
		if err := json.Unmarshal([]byte(value), &text); err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	usual, chosen := "Run,State,Progress,Loss,Result,Took,Last event", "Run,State,Loss,Result,Took,loss,Last event"
	if want := strings.Join([]string{usual, chosen, chosen, usual}, "; "); strings.Join(got, "; ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "; "), want)
	}
}
