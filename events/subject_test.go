package events

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/quick"
)

func TestSubjectsAreReadBack(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		EventSubject(exampleEvent()):               "penguin 2026-11-21T10:00 true",
		"events.examples-ready.penguin.run=201":    "penguin run 1 true", // without the id
		"events.examples-ready.penguin.=zz.x":      "penguin  false",     // written by hand
		"events.examples-ready.penguin":            "  false",
		"buckets.examples-ready.penguin.run=201.x": "  false",
	} {
		if pipeline, run, ok := ParseEventSubject(subject); fmt.Sprint(pipeline, " ", run, " ", ok) != want {
			t.Errorf("%s: %q %q %t, want %s", subject, pipeline, run, ok, want)
		}
	}
	for subject, want := range map[string]string{
		EventSubject(exampleEvent()): "examples.ready penguin true", "events.transform-ready.penguin": "transform.ready penguin true",
		"events.unknown.penguin.x": "  false", "events.transform-ready": "  false", "jobs.transform-ready.penguin": "  false",
	} {
		if kind, pipeline, ok := ParseEventKind(subject); fmt.Sprint(kind, " ", pipeline, " ", ok) != want {
			t.Errorf("%s: %q %q %t, want %s", subject, kind, pipeline, ok, want)
		}
	}
	if study, ok := ParseStudySubject("studies.penguin.0af7"); study != (Study{Pipeline: "penguin", ID: "0af7"}) || !ok {
		t.Errorf("study %+v", study)
	}
	for _, odd := range []string{"studies.penguin", "studies.penguin.a.b", "studies.Penguin.a", "studies.penguin.", "events.penguin.a", ""} {
		if study, ok := ParseStudySubject(odd); ok {
			t.Errorf("%q is the log of study %+v", odd, study)
		}
	}
	if from, ok := ParseBucketSubject(BucketSubject("raw.data")); from != "raw.data" || !ok {
		t.Errorf("from %q", from)
	}
	if from, ok := ParseBucketSubject("events.x"); ok {
		t.Errorf("an event is a notice from %q", from)
	}
}

func TestASubjectHasOneStream(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		EventSubject(exampleEvent()): StreamEvents, JobSubject(sampleJob()): StreamJobs, DeadSubject(Message{Stream: StreamJobs, Sequence: 7}): StreamDead,
		BucketSubject("x"): StreamBuckets, StudySubject(Study{"p", "f"}): StreamStudies, ProgressSubject(Progress{}): "", "events": "", "events.": "", "": "",
	} {
		if got := StreamOf(subject); got != want {
			t.Errorf("%q is kept by %q, want %q", subject, got, want)
		}
	}
}

func TestSubjectsOfEventsJobsProgressAndDeadLetters(t *testing.T) {
	t.Parallel()
	event := exampleEvent()
	progress := Progress{Pipeline: "penguin", Run: "run 1", Job: "j1"}
	for got, want := range map[string]string{
		EventSubject(event):                                  "events.examples-ready.penguin.2026-11-21T10=3A00.gen=2E7",
		JobSubject(sampleJob()):                              "jobs.train.gpu-large.0af7651916cd43dd",
		ProgressSubject(progress):                            "progress.penguin.run=201.j1",
		DeadPrefix("EVENTS", 42):                             "dead.EVENTS.42",
		JobFilter("tune", "cpu"):                             "jobs.tune.cpu.*",
		StudySubject(Study{Pipeline: "penguin", ID: "0af7"}): "studies.penguin.0af7",
		StudyFilter(""):                                      "studies.*.*",
		StudyFilter("penguin"):                               "studies.penguin.*",
		ProgressFilter("", ""):                               "progress.*.*.*",
		ProgressFilter("p", "a b"):                           "progress.p.a=20b.*",
		JobID("jobs.a.b.c"):                                  "c",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func exampleEvent() Event {
	return Event{ID: "gen.7", Pipeline: "penguin", Run: "2026-11-21T10:00", Data: &ExamplesReady{}}
}

func TestEventFilters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query Query
		want  string
	}{
		{Query{}, "events.>"},
		{Query{Kinds: []Kind{KindModelTrained}}, "events.model-trained.>"},
		{Query{Pipeline: "p"}, "events.*.p.>"},
		{Query{Run: "a b"}, "events.*.*.a=20b.>"},
		{Query{Kinds: []Kind{KindModelTrained, KindTuningFailed}, Pipeline: "p"}, "events.model-trained.p.> events.tuning-failed.p.>"},
	} {
		if got := strings.Join(EventFilters(c.query), " "); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.query, got, c.want)
		}
	}
}

func TestAnEventBelongsUnderItsOwnSubject(t *testing.T) {
	t.Parallel()
	event := exampleEvent()
	if err := CheckEventSubject(event, EventSubject(event)); err != nil {
		t.Error(err)
	}
	bare := "events.examples-ready.penguin.2026-11-21T10=3A00"
	for _, subject := range []string{bare, "events.examples-ready.penguin.2026-11-21T10=3A00.8", "events.examples-ready.taxi.2026-11-21T10=3A00", "events.model-trained.penguin.2026-11-21T10=3A00", ""} {
		wantInvalid(t, subject, CheckEventSubject(event, subject), "NATS subject")
	}
}

// token matches what both a NATS subject token and a NATS KV key may be, without separators.
var token = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+$`)

func TestEscapedTextIsOneTokenAndComesBack(t *testing.T) {
	t.Parallel()
	back := func(text string) bool {
		escaped := Escape(text)
		got, err := Unescape(escaped)
		return err == nil && got == text && token.MatchString(escaped)
	}
	if err := quick.Check(back, nil); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "=", "=41", ".", "a.b", "*", ">", " ", "ä日本", "\x00\xff", "run-1_2/3"} {
		if !back(text) {
			t.Errorf("%q becomes %s", text, Escape(text))
		}
	}
	if got := Escape("run-1_2/3"); got != "run-1_2/3" {
		t.Errorf("a plain run key becomes %s", got)
	}
}

func FuzzUnescape(f *testing.F) {
	for _, seed := range []string{"=", "=2E", "=2e", "a=", "=4", "=41", "a.b", "", "run-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if text, err := Unescape(token); err == nil && Escape(text) != token {
			t.Errorf("%q and %q both stand for %q", token, Escape(text), text)
		}
	})
}
