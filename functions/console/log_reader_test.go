package console

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// printer is a job whose module prints.
type printer struct {
	w      *world
	report events.Progress
	number int
	offset int64
}

// printing claims the only job.
func (w *world) printing(run string) *printer {
	w.t.Helper()
	claim, err := w.bus.Claim(w.t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		w.t.Fatal(err)
	}
	return &printer{w: w, report: events.Progress{Job: job.ID, Pipeline: "penguin", Run: run, Attempt: claim.Attempt().ID, Phase: "printing"}}
}

func (p *printer) print(text string) {
	p.w.t.Helper()
	progress := p.report
	progress.Log = &events.LogPart{Number: p.number, Offset: p.offset, Bytes: len(text), Text: text}
	if err := p.w.bus.Report(p.w.t.Context(), progress); err != nil {
		p.w.t.Fatal(err)
	}
	p.number, p.offset = p.number+1, p.offset+int64(len(text))
}

const mondayPage = "/run?pipeline=penguin&run=monday"

// monday is a run in progress.
func monday(t *testing.T) (*world, *printer) {
	t.Helper()
	w := setup(t, nil)
	w.apply(penguin)
	w.publish(ready("monday"))
	w.dispatched()
	return w, w.printing("monday")
}

func TestWhatARunPrintsIsShownWhileItTrains(t *testing.T) {
	t.Parallel()
	w, module := monday(t)
	w.sees(mondayPage, "The whole log is stored when the job has ended")
	module.print("\x1b[31mepoch 1\x1b[0m of <b>9</b>\npassword=hunter2\n")
	body := w.sees(mondayPage, "epoch 1 of &lt;b&gt;9&lt;/b&gt;", " data-end ")
	if strings.Contains(body, "hunter2") || strings.Contains(body, "\x1b") {
		t.Errorf("shown as it was printed:\n%s", body)
	}
	module.offset += 100
	module.print("epoch 3\n")
	w.sees(mondayPage, "epoch 1", "... 100 bytes were not received ...", "epoch 3")
	module.report.Attempt, module.number, module.offset = "another", 0, 0
	module.print("begun anew\n")
	if body = w.sees(mondayPage, "begun anew"); strings.Contains(body, "epoch 3") {
		t.Errorf("two attempts are mixed:\n%s", body)
	}
	w.publish(failed("monday", "boom"))
	if body = w.sees(mondayPage, "the log says:"); strings.Contains(body, "begun anew") || strings.Contains(body, " data-end ") {
		t.Errorf("still shown as if it went on:\n%s", body)
	}
}

func TestALogIsSentToPagesThatFollow(t *testing.T) {
	t.Parallel()
	w, module := monday(t)
	w.sees("/runs", "running")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/live"+mondayPage, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for step := range 3 { // printing changes nothing else of the page
		want := fmt.Sprintf("step %d &lt;of&gt; 3", step)
		module.print(fmt.Sprintf("step %d <of> 3\n", step))
		for !strings.Contains(lines.Text(), want) {
			if !lines.Scan() {
				t.Fatalf("the stream ended before %q: %v", want, lines.Err())
			}
		}
	}
}

// TestALogIsShownNoLongerThanAPageHolds shows the log of a module that prints endlessly.
func TestALogIsShownNoLongerThanAPageHolds(t *testing.T) {
	t.Parallel()
	w, module := monday(t)
	for part := range 2 * events.LogParts {
		module.print(strings.Repeat(fmt.Sprintf("line of part %03d\n", part), events.LogPartBytes/17))
	}
	body := w.sees(mondayPage, fmt.Sprintf("line of part %03d", 2*events.LogParts-1))
	if n := strings.Count(body, "line of part"); n < maxTail/17-1 || n > maxTail/17 {
		t.Errorf("%d lines are shown, want as many as %d bytes hold", n, maxTail)
	}
	module.print(strings.Repeat("é", events.LogPartBytes/2))
	for range 2 * events.LogParts {
		module.print(strings.Repeat("é", events.LogPartBytes/2))
	}
	var one logTail
	for p, err := range w.bus.JobLog(t.Context(), "penguin", "monday", module.report.Job) {
		if err != nil {
			t.Fatal(err)
		}
		one.add(p)
	}
	if end := one.end(); len(end) > maxTail || len(end) < maxTail-2 || strings.Trim(end, "é") != "" {
		t.Errorf("a line without an end is cut to %d bytes, %.20q", len(end), end)
	}
}

// TestPagesOfOneRunShareWhatIsRead checks that many pages of a job cause no more requests than one.
func TestPagesOfOneRunShareWhatIsRead(t *testing.T) {
	t.Parallel()
	w, module := monday(t)
	now := time.Unix(1000, 0)
	logs := newLogReader(w.bus, time.Second, func() time.Time { return now })
	look := func() string {
		t.Helper()
		text, err := logs.end(t.Context(), job{key{Pipeline: "penguin", Run: "monday"}, module.report.Job})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for i, want := range []string{"one\n", "one\n", "one\ntwo\nthree\n"} {
		module.print([]string{"one\n", "two\n", "three\n"}[i])
		if i == 2 {
			now = now.Add(time.Second)
		}
		if got := look(); got != want {
			t.Errorf("look %d: %q, want %q", i, got, want)
		}
	}
}
