package join_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// at returns an event stored so many hours into the week; its sequence is the hour.
func at(hour int, id string, data events.Data) join.Event {
	r := recorded(uint64(hour), id, data)
	r.Message.Stored = time.Unix(0, 0).UTC().Add(time.Duration(hour) * time.Hour)
	event, ok := join.EventOf(r)
	if !ok {
		panic("no event that a run can wait for: " + id)
	}
	return event
}

func graph() events.Data { return &events.TransformReady{TransformGraph: "s3://bkt/graph"} }
func tuned() events.Data { return &events.HParamsReady{Hyperparameters: "s3://bkt/hp"} }
func untuned() events.Data {
	return &events.TuningFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}}
}

const head = "pipeline: penguin\nmodule: builtin:dnn\n"

func TestWhatBecomesOfARun(t *testing.T) {
	t.Parallel()
	const tuner = head + "tuner: {when: never, on_failed: latest}\n"
	none, best := join.Latest{}, join.Latest{Hyperparameters: "s3://bkt/best"}
	for name, tc := range map[string]struct {
		text   string
		events []join.Event
		latest join.Latest
		want   join.State
		say    string // kinds that are missing, or how it ended
		hp     string
	}{
		"nothing of it": {text: head, want: join.Waiting, say: "transform.ready"},
		"run: waits for its own": {text: head + "trainer: {hyperparameters: run}\n", events: []join.Event{at(1, "t", graph())},
			latest: best, want: join.Waiting, say: "hparams.ready"},
		"run: its own, however late they are published": {text: head + "trainer: {hyperparameters: run}\n",
			events: []join.Event{at(1, "t", graph()), at(100, "h", tuned())}, want: join.Complete, hp: "s3://bkt/hp"},
		"latest: its own, published before": {text: head + "trainer: {hyperparameters: latest}\n",
			events: []join.Event{at(1, "h", tuned()), at(2, "t", graph())}, latest: best, want: join.Complete, hp: "s3://bkt/hp"},
		"latest: published too late, they change nothing": {text: head + "trainer: {hyperparameters: latest}\n",
			events: []join.Event{at(1, "t", graph()), at(2, "h", tuned())}, latest: best, want: join.Complete, hp: "s3://bkt/best"},
		"none: its own change nothing": {text: head + "trainer: {hyperparameters: none}\n",
			events: []join.Event{at(1, "h", tuned()), at(2, "t", graph())}, latest: best, want: join.Complete},
		"auto without a tuner is latest": {text: head, events: []join.Event{at(1, "t", graph())}, latest: best, want: join.Complete, hp: "s3://bkt/best"},
		"auto with a tuner is run":       {text: tuner, events: []join.Event{at(1, "t", graph())}, latest: best, want: join.Waiting, say: "hparams.ready"},
		"a failed tuning, latest": {text: tuner, events: []join.Event{at(1, "t", graph()), at(2, "f", untuned())}, latest: best,
			want: join.Complete, hp: "s3://bkt/best"},
		"a failed tuning, latest, and the data later": {text: tuner, events: []join.Event{at(1, "f", untuned()), at(2, "t", graph())},
			latest: best, want: join.Complete, hp: "s3://bkt/best"},
		"a failed tuning, but tuned all the same": {text: tuner,
			events: []join.Event{at(1, "f", untuned()), at(2, "h", tuned()), at(3, "t", graph())},
			latest: best, want: join.Complete, hp: "s3://bkt/hp"},
		"a failed tuning, latest, and there is none": {text: tuner, events: []join.Event{at(1, "t", graph()), at(2, "f", untuned())}, latest: none,
			want: join.Ended, say: "incomplete: tuning failed: boom; the pipeline has no earlier hyperparameters to use instead"},
		"a failed tuning, fail": {text: head + "tuner: {when: never, on_failed: fail}\n", events: []join.Event{at(1, "f", untuned())}, latest: best,
			want: join.Ended, say: "incomplete: tuning failed: boom; the pipeline's tuner.on_failed is fail"},
		"a failed tuning of a pipeline that does not tune": {text: head, events: []join.Event{at(1, "f", untuned()), at(2, "t", graph())},
			latest: best, want: join.Complete, hp: "s3://bkt/best"},
		"the last event in time": {text: head + "trainer: {hyperparameters: run, expire_after: 2h}\n",
			events: []join.Event{at(1, "t", graph()), at(3, "h", tuned())}, want: join.Complete, hp: "s3://bkt/hp"},
		"the last event late, before anybody found the run expired": {text: head + "trainer: {hyperparameters: run, expire_after: 2h}\n",
			events: []join.Event{at(1, "t", graph()), at(4, "h", tuned())}, want: join.Complete, hp: "s3://bkt/hp"},
		"a run may wait forever": {text: head + "trainer: {hyperparameters: run, expire_after: never}\n",
			events: []join.Event{at(1, "t", graph()), at(100_000, "h", tuned())}, want: join.Complete, hp: "s3://bkt/hp"},
		"hyperparameters that nobody waits for start no clock": {text: head + "trainer: {hyperparameters: latest, expire_after: 2h}\n",
			events: []join.Event{at(1, "h", tuned()), at(50, "t", graph())}, want: join.Complete, hp: "s3://bkt/hp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parse(t, tc.text)
			random := rand.New(rand.NewPCG(3, 4))
			for range 10 { // the order in which events are passed does not matter
				random.Shuffle(len(tc.events), func(i, j int) { tc.events[i], tc.events[j] = tc.events[j], tc.events[i] })
				j, say := become(p, tc.events, tc.latest)
				if j.State != tc.want || say != tc.say {
					t.Fatalf("%s, %q; want %s, %q", j.State, say, tc.want, tc.say)
				}
				if j.State != join.Complete {
					continue
				}
				job, err := j.Job(p, events.FunctionTrain, join.Retry{})
				if err != nil || job.Inputs.Hyperparameters != tc.hp {
					t.Fatalf("trains with %q, %v; want %q", job.Inputs.Hyperparameters, err, tc.hp)
				}
			}
		})
	}
}

// become advances a run as far as possible.
func become(p pipeline.Pipeline, evs []join.Event, latest join.Latest) (join.Join, string) {
	j := join.Decide(p, "monday", evs)
	if j.Ready(p) {
		if !j.Wants(p, events.FunctionTrain).Hyperparameters {
			latest.Hyperparameters = ""
		}
		j = j.Pin(p, 1, latest)
	}
	if j.State == join.Ended {
		return j, string(j.Ending.Kind) + ": " + j.Ending.Message
	}
	var missing []string
	if j.State == join.Waiting {
		for _, kind := range j.Missing(p) {
			missing = append(missing, string(kind))
		}
	}
	return j, strings.Join(missing, " ")
}

func TestARunExpiresByTheTimeItsEventsWereStored(t *testing.T) {
	t.Parallel()
	p := parse(t, head+"trainer: {hyperparameters: run, expire_after: 2h}\n")
	j := join.Decide(p, "monday", []join.Event{at(5, "t", graph())})
	deadline, bounded := j.Deadline(p)
	if want := time.Unix(0, 0).Add(7 * time.Hour); !bounded || !deadline.Equal(want) {
		t.Fatalf("deadline %s, %t", deadline, bounded)
	}
	j.Began = time.Unix(1e9, 0) // by another clock
	for name, tc := range map[string]struct {
		bus, own time.Duration // of the wait
		ends     bool
	}{
		"at its deadline":                        {2 * time.Hour, 2 * time.Hour, false},
		"behind it":                              {2*time.Hour + time.Minute, 2*time.Hour + time.Minute, true},
		"the server's clock is ahead":            {2*time.Hour + time.Minute, time.Hour, false},
		"the dispatcher's clock has jumped":      {time.Hour, 20 * time.Hour, false},
		"the server's clock was set back":        {-time.Hour, 3 * time.Hour, false},
		"the dispatcher's is far behind forever": {3 * time.Hour, -time.Hour, false},
	} {
		ended := j.Expire(p, join.Clocks{Bus: deadline.Add(tc.bus - 2*time.Hour), Own: j.Began.Add(tc.own)})
		if (ended.State == join.Ended) != tc.ends {
			t.Errorf("%s: %s %+v", name, ended.State, ended.Ending)
		}
		if tc.ends && (!ended.Ending.At.Equal(deadline) || ended.Ending.Through != 5) {
			t.Errorf("%s: %+v", name, ended.Ending)
		}
	}
}

func TestARunThatHasEndedStaysAsItIs(t *testing.T) {
	t.Parallel()
	p := parse(t, head)
	ended := join.Decide(p, "monday", nil).End(events.FailureCancelled, "cancelled", time.Unix(1, 0))
	if again := ended.End(events.FailureIncomplete, "expired", time.Unix(2, 0)); again.Ending.Message != "cancelled" {
		t.Errorf("ended again: %+v", again.Ending)
	}
	if after := ended.Add(at(1, "t", graph())); len(after.Events) != 0 || after.Ready(p) {
		t.Errorf("a late event was taken: %+v", after)
	}
	if announced := ended.Announced(); !announced.Ending.Announced || ended.Ending.Announced {
		t.Error("Announced changed the original")
	}
}

func TestSaltComesFromWhatAsksForAnotherTraining(t *testing.T) {
	t.Parallel()
	plain, off := parse(t, head), parse(t, head+"trainer: {cache: off}\n")
	forced := &events.TransformReady{TransformGraph: "s3://bkt/graph", Request: events.Request{Force: true}}
	salts := map[string]string{}
	for name, tc := range map[string]struct {
		p     pipeline.Pipeline
		run   string
		event join.Event
		again join.Retry
	}{
		"plain":                   {plain, "monday", at(1, "t", graph()), join.Retry{}},
		"forced":                  {plain, "monday", at(1, "t", forced), join.Retry{}},
		"forced by another event": {plain, "monday", at(1, "t2", forced), join.Retry{}},
		"cache off":               {off, "monday", at(1, "t", graph()), join.Retry{}},
		"cache off, another run":  {off, "tuesday", at(1, "t", graph()), join.Retry{}},
		"cache off and forced":    {off, "monday", at(1, "t", forced), join.Retry{}},
		"asked for again":         {plain, "monday", at(1, "t", graph()), join.Retry{Salt: "request-1"}},
	} {
		make := func() events.Job {
			job, err := join.Decide(tc.p, tc.run, []join.Event{tc.event}).Pin(tc.p, 1, join.Latest{}).Job(tc.p, events.FunctionTrain, tc.again)
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		job := make()
		if job.Salt != make().Salt {
			t.Errorf("%s: another salt each time", name)
		}
		if name == "asked for again" && job.Salt != "request-1" {
			t.Errorf("the request's salt became %q", job.Salt)
		}
		if other, known := salts[job.Salt]; known {
			t.Errorf("%s has the salt of %s", name, other)
		}
		if salts[job.Salt] = name; (job.Salt == "") != (name == "plain") {
			t.Errorf("%s: salt %q", name, job.Salt)
		}
	}
}

func TestAJobMadeAgainDiffersInWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	p := parse(t, head)
	j := join.Decide(p, "monday", []join.Event{at(1, "t", graph())}).Pin(p, 1, join.Latest{})
	first, err := j.Job(p, events.FunctionTrain, join.Retry{})
	if err != nil {
		t.Fatal(err)
	}
	lost, err := j.Job(p, events.FunctionTrain, join.Retry{Generation: 1, Request: "replay-7"})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := j.Job(p, events.FunctionTrain, join.Retry{Request: "dead-3"})
	if err != nil {
		t.Fatal(err)
	}
	if lost.ID == first.ID || lost.Generation != 1 || lost.Salt != "" || lost.Request != "replay-7" {
		t.Errorf("job of another generation: %+v", lost)
	}
	if asked.ID != first.ID || asked.Request != "dead-3" {
		t.Errorf("who asked is part of the job's identity: %s and %s", asked.ID, first.ID)
	}
}

func TestASkippedTuningNamesTheFirstEventThatCouldBeTunedOn(t *testing.T) {
	t.Parallel()
	p := parse(t, head+"tuner: {when: never}\ntrainer: {wait_for: [examples, transform, hparams]}\n")
	raw := &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}}
	skipped, ok := join.Decide(p, "monday", []join.Event{at(2, "t", graph()), at(1, "e", raw)}).Skipped(p)
	if !ok || skipped.Cause.ID != "e" || skipped.Cause.Sequence != 1 {
		t.Errorf("skipped for %+v, %t", skipped, ok)
	}
	for name, evs := range map[string][]join.Event{
		"nothing to tune on":       {},
		"its own are there":        {at(1, "e", raw), at(2, "h", tuned())},
		"its failure is published": {at(1, "e", raw), at(2, "f", untuned())},
	} {
		if _, ok := join.Decide(p, "monday", evs).Skipped(p); ok {
			t.Errorf("%s, and the skip is published", name)
		}
	}
	if _, ok := join.Decide(parse(t, head), "monday", slices.Clip([]join.Event{at(1, "e", raw)})).Skipped(parse(t, head)); ok {
		t.Error("a pipeline without a tuner skips tuning")
	}
}

func TestAJoinSaysWhichEventsItIgnores(t *testing.T) {
	t.Parallel()
	both := parse(t, head+"trainer: {wait_for: [transform, hparams], hyperparameters: run}\n")
	none := parse(t, head+"trainer: {hyperparameters: none}\n")
	first, second := at(1, "t", graph()), at(2, "t2", graph())
	waiting := join.Decide(both, "monday", []join.Event{first, second})
	complete := join.Decide(both, "monday", []join.Event{first, at(3, "h", tuned())}).Pin(both, 1, join.Latest{})
	raw := &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}}
	for name, tc := range map[string]struct {
		join  join.Join
		event join.Event
		want  string
	}{
		"its own":              {waiting, first, ""},
		"a second of the kind": {waiting, second, "already has its transform.ready: event 1"},
		"one that it lacks":    {waiting, at(3, "h", tuned()), ""},
		// It replaces the newer one.
		"an older one of the kind":       {join.Decide(both, "monday", []join.Event{second}), first, ""},
		"a second, when it was complete": {complete, at(4, "h2", tuned()), "already has its hparams.ready: event 3"},
		"another, when it was complete":  {complete, at(4, "e", raw), "was complete with event 3"},
		"of a run that was cancelled":    {waiting.End(events.FailureCancelled, "cancelled", time.Unix(1, 0)), at(4, "h", tuned()), "had ended: cancelled"},
	} {
		if got := tc.join.Ignored(both, tc.event); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	empty := join.New("penguin", "monday")
	if got := empty.Ignored(none, at(1, "h", tuned())); !strings.Contains(got, "uses no hyperparameters") {
		t.Errorf("hyperparameters that nobody takes: %q", got)
	}
	if got := empty.Ignored(none, first); got != "" {
		t.Errorf("the event that the run waits for: %q", got)
	}
}
