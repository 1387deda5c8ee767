package events

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestAnyStatusFitsWhenBounded checks that a worker can always say what it does, whatever its host,
// its modules and its runs are called.
func TestAnyStatusFitsWhenBounded(t *testing.T) {
	t.Parallel()
	w := WorkerStatus{
		ID: "a-1", Host: "\x1b[31m" + strings.Repeat("日", 200), Functions: Functions(), Classes: []string{"cpu"}, Slots: 900, Busy: 900,
		Version: "", Started: time.Now(), GPUs: make([]string, 40), MoreJobs: 2,
	}
	for i := range 300 {
		w.Jobs = append(w.Jobs, WorkerJob{
			Job: strings.Repeat("a", 128), Function: FunctionTrial, Pipeline: strings.Repeat("p", maxName), Run: strings.Repeat("<", maxRun), Attempt: fmt.Sprint(i),
			Number: i, Phase: "trial\x00" + strings.Repeat("\"", 400),
		})
	}
	bounded := w.Bounded()
	body, err := EncodeWorker(bounded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeWorker(WorkerSubject(w), body)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Jobs) == 0 || len(got.Jobs)+got.MoreJobs != 302 || len(got.GPUs) != MaxWorkerGPUs || !utf8.ValidString(got.Host) || len(got.Host) > maxWorkerText ||
		strings.ContainsAny(got.Host+got.Jobs[0].Phase, "\x00\x1b") {
		t.Errorf("%d jobs and %d more, %d GPUs, host %q", len(got.Jobs), got.MoreJobs, len(got.GPUs), got.Host)
	}
	if len(w.Jobs) != 300 || w.Jobs[0].Phase == bounded.Jobs[0].Phase {
		t.Error("the status itself was changed")
	}
}

func FuzzDecodeWorker(f *testing.F) {
	w := WorkerStatus{ID: "a-1", Host: "h", Functions: Functions(), Classes: []string{"cpu"}, Slots: 1, Version: "v", Jobs: []WorkerJob{{Job: "j", Function: "train", Pipeline: "p", Run: "r", Attempt: "a"}}}
	body, err := EncodeWorker(w)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(WorkerSubject(w), body)
	f.Add("workers.cpu.x", []byte(`{"id": 3}`))
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		w, err := DecodeWorker(subject, body)
		if err != nil {
			return
		}
		if again, err := EncodeWorker(w); err != nil && len(again) <= MaxWorkerBytes && len(body) < MaxWorkerBytes/8 {
			t.Errorf("it was read and can't be written: %v", err)
		}
		if WorkerSubject(w) != subject || len(w.Jobs) > MaxWorkerJobs || !nameRE.MatchString(w.ID) {
			t.Errorf("%s: %+v", subject, w)
		}
	})
}

func TestAWorkerNamesFewQueues(t *testing.T) {
	t.Parallel()
	w := WorkerStatus{ID: "a", Host: "a", Version: "v1", Slots: 1}
	for i := range 32 {
		w.Functions, w.Classes = append(w.Functions, Function(fmt.Sprintf("f%d", i))), append(w.Classes, fmt.Sprintf("c%d", i))
	}
	if err := w.Validate(); err == nil {
		t.Error("1,024 queues are valid")
	}
	w.Functions = w.Functions[:3]
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
}
