package events

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAModelIsAnnouncedOnceForEachRunExecutionAndGeneration(t *testing.T) {
	t.Parallel()
	job, data := sampleJob(), samples()[KindModelTrained].(*ModelTrained)
	event := NewModelTrained(job, data)
	if _, _, err := Encode(event); err != nil {
		t.Fatal(err)
	}
	const want = "events.model-trained.penguin.run=201.00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff-1-"
	if got := EventSubject(event); !strings.HasPrefix(got, want) {
		t.Errorf("got subject %s, want %s and more", got, want)
	}
	if again := NewModelTrained(job, data); again.ID != event.ID {
		t.Errorf("published again it is %s, not %s", again.ID, event.ID)
	}
	other := job
	other.Run = "another"
	if NewModelTrained(other, data).ID == event.ID {
		t.Error("two runs with one execution have one id, which is one event to CloudEvents")
	}
	if event.Causation != "id-1" || event.Source != "/stoker/train" || !event.Time.Equal(data.Finished) {
		t.Errorf("got %+v", event)
	}
}

func TestASearchIsAnnouncedOnceForEachRunExecutionAndGeneration(t *testing.T) {
	t.Parallel()
	job, at := sampleJob(), time.Unix(7, 0)
	job.Function, job.Salt = FunctionTune, "again"
	outcome := func(job Job, generation int) Event {
		data := &HParamsReady{Hyperparameters: "s3://tfx-data/best", Execution: "sha256:" + strings.Repeat("0", 64), Generation: generation}
		return NewHParamsFound(job, data, at)
	}
	event, other := outcome(job, 1), job
	other.Run = "another"
	if _, _, err := Encode(event); err != nil || event.Source != "/stoker/tune" || event.Data.(*HParamsReady).Salt != "again" || !event.Time.Equal(at) {
		t.Errorf("%+v, %v", event, err)
	}
	if outcome(job, 1).ID != event.ID || outcome(job, 2).ID == event.ID || outcome(other, 1).ID == event.ID {
		t.Error("equal outcomes have different ids, or different outcomes equal ones")
	}
}

func TestAModelHasTheSaltOfItsJob(t *testing.T) {
	t.Parallel()
	job := sampleJob()
	job.Salt = "again"
	event := NewModelTrained(job, samples()[KindModelTrained].(*ModelTrained))
	if got := event.Data.(*ModelTrained).Salt; got != "again" || event.Validate() != nil {
		t.Errorf("salt %q, %v", got, event.Validate())
	}
}

func TestAFailedJobIsAnnouncedByItsFunction(t *testing.T) {
	t.Parallel()
	job := sampleJob()
	failure := &Failure{Kind: FailureModule, Err: errors.New("boom"), LogTail: "Traceback", Execution: "sha256:1"}
	trained := NewJobFailed(job, Attempt{Number: 2}, failure)
	third := NewJobFailed(job, Attempt{ID: "other", Number: 3}, failure)
	asked := job
	asked.Request = "dead-1"
	again := NewJobFailed(asked, Attempt{Number: 2}, failure)
	if trained.ID != third.ID || trained.ID == again.ID || trained.ID != FailedID(job) {
		t.Errorf("ids %s, %s, %s: want another one only where the job was asked for again", trained.ID, third.ID, again.ID)
	}
	data, ok := trained.Data.(*TrainingFailed)
	if !ok || data.Reason != FailureModule || data.Message != "boom" || data.Execution != "sha256:1" || data.LogTail != "Traceback" || data.Attempt != 2 {
		t.Errorf("got %+v", trained.Data)
	}
	job.Function = FunctionTrial
	if _, ok := NewJobFailed(job, Attempt{Number: 1}, failure).Data.(*TuningFailed); !ok {
		t.Error("a trial's failure is not a TuningFailed")
	}
}

func TestACancelledJobIsAnnouncedOnceByAnyAttempt(t *testing.T) {
	t.Parallel()
	job, failure := sampleJob(), &Failure{Kind: FailureCancelled, Err: errors.New("cancelled")}
	first, second := NewJobFailed(job, Attempt{Number: 1}, failure), NewJobFailed(job, Attempt{Number: 2}, failure)
	if first.ID != second.ID {
		t.Error("a worker that died between the event and its acknowledgement publishes it twice")
	}
	job.Request = "dead-7"
	if asked := NewJobFailed(job, Attempt{Number: 1}, failure); asked.ID == first.ID {
		t.Error("the publisher who requested the job again gets no event")
	}
}

func TestARefusedEventIsAnnouncedUnderItsOwnRun(t *testing.T) {
	t.Parallel()
	cause := sampleEvent(KindExamplesReady)
	cause.ID, cause.Trace = "50 % \x7f", "not a trace"
	stored := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	event := NewEventRefused(Recorded{Event: cause, Message: Message{Stored: stored}}, &Failure{Kind: FailureInput, Err: errors.New("")})
	if _, _, err := Encode(event); err != nil {
		t.Errorf("what was not plain in the cause makes it unfit: %v", err)
	}
	if event.Run != cause.Run || !event.Time.Equal(stored) || event.Causation != "50=20=25=20=7F" || event.Data.(*TrainingFailed).Message != "input" {
		t.Errorf("got %+v", event)
	}
	other := cause
	other.Source = "/another"
	if NewEventRefused(Recorded{Event: other}, &Failure{Kind: FailureInput, Err: errors.New("x")}).ID == event.ID {
		t.Error("events of two sources lead to the same id")
	}
}

func TestLongLogsAreCutAtTheirBeginning(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("ä", maxTail) + "the end"
	event := NewJobFailed(sampleJob(), Attempt{Number: 1}, &Failure{Kind: FailureCrash, Err: errors.New("x\xff"), LogTail: log})
	data := event.Data.(*TrainingFailed)
	if len(data.LogTail) > maxTail+3 || !strings.HasSuffix(data.LogTail, "äthe end") || data.Message != "x�" {
		t.Errorf("got %d bytes ending in %q, message %q", len(data.LogTail), data.LogTail[len(data.LogTail)-9:], data.Message)
	}
}

func TestDerivedIDsDistinguishParts(t *testing.T) {
	t.Parallel()
	if DerivedID("a", "bc") == DerivedID("ab", "c") || DerivedID("a", "") == DerivedID("a") {
		t.Error("different parts, the same id")
	}
}

func TestAnEventAnnouncesTheJobThatItNames(t *testing.T) {
	t.Parallel()
	job := sampleJob()
	tune, trial := job, job
	tune.Function, trial.Function = FunctionTune, FunctionTrial
	why := &Failure{Kind: FailureModule, Err: errors.New("boom")}
	byJob := map[string]struct {
		job   Job
		event Event
	}{
		"a model":              {job, NewModelTrained(job, &ModelTrained{})},
		"hyperparameters":      {tune, NewHParamsFound(tune, &HParamsReady{}, time.Unix(1, 0))},
		"a training's failure": {job, NewJobFailed(job, Attempt{}, why)},
		"a search's failure":   {tune, NewJobFailed(tune, Attempt{}, why)},
		"a trial's failure":    {trial, NewJobFailed(trial, Attempt{}, why)},
	}
	for name, tc := range byJob {
		if !Announces(tc.event, tc.job) {
			t.Errorf("%s does not announce its own job", name)
		}
		for change, other := range map[string]func(*Job){
			"a retry":          func(j *Job) { j.Request = "dead-9" },
			"another job":      func(j *Job) { j.ID = "other" },
			"another function": func(j *Job) { j.Function = "other" },
		} {
			changed := tc.job
			other(&changed)
			if Announces(tc.event, changed) {
				t.Errorf("%s announces %s", name, change)
			}
		}
	}
	if Announces(NewHParamsReused(Skipped{Pipeline: job.Pipeline, Run: job.Run}, byJob["hyperparameters"].event.Data.(*HParamsReady)), tune) {
		t.Error("hyperparameters of an earlier run announce its job in the run that takes them")
	}
	if Announces(sampleEvent(KindExamplesReady), job) {
		t.Error("an upstream event announces a job")
	}
}
