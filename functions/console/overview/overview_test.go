package overview_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/overview"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/list"
)

var now = time.Date(2026, 11, 28, 16, 20, 0, 0, time.UTC)

// log adds events to an index.
type log struct {
	*runs.Index
	sequence uint64
}

func (l *log) add(run string, ago time.Duration, data events.Data) {
	l.sequence++
	l.ApplyEvent(events.Recorded{
		Event: events.Event{Pipeline: "p", Run: run, Data: data}, Message: events.Message{Sequence: l.sequence, Stored: now.Add(-ago)},
	})
}

func failed(message string) *events.TrainingFailed {
	return &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: message}}
}

// newLog returns the log of a bus whose buckets are empty.
func newLog() *log {
	l := &log{Index: runs.NewIndex(runs.Options{MaxRuns: 6000})}
	for _, bucket := range runs.Buckets() {
		l.Begin(bucket)
		l.End(bucket)
	}
	return l
}

func TestRunsAreCountedInTheHourInWhichTheyEnded(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.add("old", 24*time.Hour, &events.ModelTrained{})
	l.add("first", 23*time.Hour+20*time.Minute, &events.ModelTrained{})
	l.add("second", 23*time.Hour+19*time.Minute, failed("boom"))
	l.add("last", 19*time.Minute, &events.ModelTrained{})
	l.add("ahead", -2*time.Hour, failed("by a clock that is ahead"))
	l.add("cancelled", 0, &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureCancelled}})
	o := overview.Of(l.Index, now)
	if o.Trained != 2 || o.Failed != 2 || !o.Since.Equal(time.Date(2026, 11, 27, 17, 0, 0, 0, time.UTC)) {
		t.Errorf("%d trained, %d failed since %s", o.Trained, o.Failed, o.Since)
	}
	if h := o.Hours[0]; h.Trained != 1 || h.Failed != 1 || !h.Begins.Equal(o.Since) {
		t.Errorf("the first hour: %+v", h)
	}
	if h := o.Hours[overview.Hours-1]; h.Trained != 1 || h.Failed != 1 || !h.Begins.Equal(now.Truncate(time.Hour)) {
		t.Errorf("the present hour: %+v", h)
	}
}

// TestAFailureSelectsItsRuns reads the filter that each failure names.
func TestAFailureSelectsItsRuns(t *testing.T) {
	t.Parallel()
	l := newLog()
	for i := range 7 {
		l.add(fmt.Sprintf("memory-%d", i), time.Hour, failed(fmt.Sprintf("out of memory: \"tensor\\%d\" = %d MiB, at s3://bkt/x~%d\nTraceback", i, 100+i, i)))
	}
	for i := range 3 {
		run := fmt.Sprintf("secret-%d", i)
		l.add(run, time.Duration(i)*time.Minute, failed("run "+run+" can't connect to postgres://me:hunter2@db"+run+" with password=hunter2: no route to host"))
	}
	l.add("silent", time.Hour, failed(""))
	l.add("old", 30*time.Hour, failed("out of memory"))
	o := overview.Of(l.Index, now)
	if len(o.Failures) != 3 || o.Failures[0].Runs != 7 || o.Failures[1].Runs != 3 || o.Failures[1].Last.Run != "secret-0" || o.Others != 0 {
		t.Fatalf("%+v", o.Failures)
	}
	all := slices.Collect(l.States())
	for _, f := range o.Failures {
		if strings.Contains(f.Reason+f.Query, "hunter2") {
			t.Errorf("a secret is shown: %+v", f)
		}
		selects, err := list.Parse(f.Query, list.Names{})
		if err != nil {
			t.Errorf("%s: %v", f.Query, err)
			continue
		}
		selected := 0
		for i := range all {
			if selects.Matches(&all[i], now) {
				selected++
			}
		}
		if selected != f.Runs && f.Reason != "" {
			t.Errorf("%s selects %d runs, want %d", f.Query, selected, f.Runs)
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLog()
	for i := range 300 {
		l.add(fmt.Sprintf("run-%d", i), time.Hour, failed(strings.Repeat(string(rune('a'+i%26)), 1+i/26)+" \" \\ "+strings.Repeat("x ", 5000)))
	}
	o := overview.Of(l.Index, now)
	shown := o.Others
	for _, f := range o.Failures {
		shown += f.Runs
		if len(f.Query) > filter.MaxBytes || len(f.Reason) > 500 {
			t.Errorf("%d bytes of a filter, %d of a reason", len(f.Query), len(f.Reason))
		}
	}
	if len(o.Failures) != overview.MaxFailures || shown != 300 {
		t.Errorf("%d failures of %d runs", len(o.Failures), shown)
	}
}

func TestACacheComputesAnOverviewOncePerChange(t *testing.T) {
	t.Parallel()
	w, cache := runs.NewWatch(nil, 100), overview.NewCache(time.Second)
	end := func(run string) {
		w.Change(func(x *runs.Index) {
			x.ApplyEvent(events.Recorded{Event: events.Event{Pipeline: "p", Run: run, Data: &events.ModelTrained{}}, Message: events.Message{Sequence: 1, Stored: now}})
		})
	}
	end("a")
	for _, step := range []struct {
		what  string
		after time.Duration
		do    func()
		want  int
	}{
		{"at first", 0, func() {}, 1},
		{"right after a change", 500 * time.Millisecond, func() { end("b") }, 1},
		{"a second after a change", 1500 * time.Millisecond, func() {}, 2},
		{"in the next hour", time.Hour, func() {}, 2},
		{"a day later", 30 * time.Hour, func() {}, 0},
		{"by a clock that went back", 0, func() {}, 2},
	} {
		step.do()
		if got := cache.Read(w, now.Add(step.after)); got.Trained != step.want {
			t.Errorf("%s: %d trained, want %d", step.what, got.Trained, step.want)
		}
	}
}
