package openlineage

import (
	"maps"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// Converter makes run events. The zero value has the namespace "stoker".
type Converter struct {
	Namespace string // of jobs
	Version   string // of this program
}

// Search is the manifest of a search and the log of its study, which its event does not hold.
type Search struct {
	Inputs  []events.Artifact
	Module  string
	Started time.Time
	Trials  []*tune.Trial
}

// Of makes the run events of an event of the log: none for one that upstream published, or that
// ends no run. search may be nil.
func (t Converter) Of(recorded events.Recorded, search *Search) []Event {
	if recorded.Err != nil {
		return nil
	}
	event := recorded.Event
	switch data := event.Data.(type) {
	case *events.ModelTrained:
		return t.trained(recorded, data)
	case *events.HParamsReady:
		if event.Source == events.Source(events.FunctionTune) && data.Execution != "" {
			return t.tuned(recorded, data, search)
		}
	case *events.TrainingFailed:
		if events.EndsRun(event) {
			return t.failed(recorded, events.FunctionTrain, data.Failed, nil)
		}
	case *events.TuningFailed:
		return t.failed(recorded, events.FunctionTune, data.Failed, search)
	default: // upstream published it
	}
	return nil
}

// base has what all events of a run have.
func (t Converter) base(f events.Function, pipeline, run, salt string) Event {
	return Event{
		Run: Run{ID: RunID(f, pipeline, run, salt), Facets: map[string]any{
			"processing_engine": facet(facetsURL+"1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
				map[string]any{"name": "Stoker", "version": orDefault(t.Version, "unknown")}),
			"stoker_run": facet(ownURL+"StokerRunFacet", map[string]any{"pipeline": pipeline, "run": run}),
		}},
		Job: Job{Namespace: orDefault(t.Namespace, "stoker"), Name: pipeline + "." + string(f), Facets: map[string]any{
			"jobType": facet(facetsURL+"2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
				map[string]any{"processingType": "BATCH", "integration": "STOKER", "jobType": jobTypes[f]}),
		}},
		Inputs: []Dataset{}, Outputs: []Dataset{}, Producer: producer, SchemaURL: specURL,
	}
}

var jobTypes = map[events.Function]string{events.FunctionTrain: "TRAINING", events.FunctionTune: "TUNING", events.FunctionTrial: "TRIAL"}

// as is the event in another state, at a time, with facets of its own.
func (e Event) as(state State, at time.Time, facets map[string]any) Event {
	e.Type, e.Time = state, at.UTC()
	e.Run.Facets = maps.Clone(e.Run.Facets)
	maps.Copy(e.Run.Facets, facets)
	return e
}

// span is when the work of an event was done: the time of the event, if another run had done it
// before.
func span(recorded events.Recorded, before bool, started, finished time.Time) (from, to time.Time) {
	stored := recorded.Message.Stored
	if stored.IsZero() {
		stored = recorded.Event.Time
	}
	if before || finished.IsZero() {
		started, finished = stored, stored
	}
	if started.IsZero() || started.After(finished) {
		started = finished
	}
	return started, finished
}

func (t Converter) trained(recorded events.Recorded, data *events.ModelTrained) []Event {
	e := t.base(events.FunctionTrain, recorded.Event.Pipeline, recorded.Event.Run, data.Salt)
	e.Inputs = datasets(data.Inputs)
	from, to := span(recorded, data.Cached, data.Started, data.Finished)
	facets := map[string]any{"stoker_training": facet(ownURL+"StokerTrainingRunFacet", map[string]any{
		"execution": data.Execution, "generation": data.Generation, "cached": data.Cached, "module": data.Module,
		"attempts": data.Attempts, "metrics": orEmpty(data.Metrics),
	})}
	if len(data.Hyperparameters) > 0 {
		facets["stoker_hyperparameters"] = hyperparameters(data.Hyperparameters)
	}
	begun := e.as(Start, from, nil)
	done := e.as(Complete, to, facets)
	if model, ok := datasetOf("Model", data.Model.URI, data.Model.Digest); ok {
		model.Facets["stoker_model"] = facet(ownURL+"StokerModelDatasetFacet", map[string]any{
			"execution": data.Execution, "formats": data.Model.Formats, "metrics": orEmpty(data.Metrics),
		})
		done.Outputs = append(done.Outputs, model)
	}
	if log, ok := datasetOf("ModelRun", data.ModelRun, ""); ok {
		done.Outputs = append(done.Outputs, log)
	}
	return []Event{begun, done}
}

func (t Converter) tuned(recorded events.Recorded, data *events.HParamsReady, search *Search) []Event {
	e := t.base(events.FunctionTune, recorded.Event.Pipeline, recorded.Event.Run, data.Salt)
	before, module, started := data.Cached || data.Reused, "", time.Time{}
	if search != nil {
		e.Inputs, module, started = datasets(search.Inputs), search.Module, search.Started
	}
	from, to := span(recorded, before, started, recorded.Event.Time)
	members := map[string]any{
		"execution": data.Execution, "generation": data.Generation, "cached": data.Cached, "reused": data.Reused, "objective": data.Objective,
		"module": module,
	}
	if data.Score != nil {
		members["score"] = *data.Score
	}
	facets := map[string]any{"stoker_tuning": facet(ownURL+"StokerTuningRunFacet", members)}
	if len(data.Values) > 0 {
		facets["stoker_hyperparameters"] = hyperparameters(data.Values)
	}
	done := e.as(Complete, to, facets)
	for _, out := range []events.Artifact{{Type: "HyperParameters", URI: data.Hyperparameters}, {Type: "TunerResults", URI: data.Study}} {
		if d, ok := datasetOf(out.Type, out.URI, ""); ok {
			done.Outputs = append(done.Outputs, d)
		}
	}
	all := []Event{e.as(Start, from, nil)}
	if search != nil && !before {
		all = append(all, t.trials(recorded.Event, e, search.Trials)...)
	}
	return append(all, done)
}

func (t Converter) failed(recorded events.Recorded, f events.Function, data events.Failed, search *Search) []Event {
	e := t.base(f, recorded.Event.Pipeline, recorded.Event.Run, "")
	from, to := span(recorded, false, time.Time{}, recorded.Event.Time)
	all := []Event{e.as(Start, from, nil)}
	if search != nil {
		e.Inputs = datasets(search.Inputs)
		all = append(all, t.trials(recorded.Event, e, search.Trials)...)
	}
	state := Fail
	if data.Reason == events.FailureCancelled {
		state = Abort
	}
	said := map[string]any{"message": data.Message, "programmingLanguage": "unknown"}
	if data.LogTail != "" {
		said["stackTrace"] = data.LogTail
	}
	return append(all, e.as(state, to, map[string]any{
		"errorMessage": facet(facetsURL+"1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet", said),
		"stoker_failure": facet(ownURL+"StokerFailureRunFacet", map[string]any{
			"kind": string(data.Reason), "attempt": data.Attempt, "execution": data.Execution,
		}),
	}))
}

// trials are child runs of a search, one for each trial. One that has not ended has begun.
func (t Converter) trials(event events.Event, parent Event, trials []*tune.Trial) (all []Event) {
	for _, trial := range trials {
		e := t.below(parent, event.Pipeline, event.Run, trial.ID)
		e.Run.Facets["stoker_hyperparameters"] = hyperparameters(trial.Values.Map())
		all = append(all, e.as(Start, trial.Started, nil))
		state, over := trialStates[trial.Status]
		if !over || trial.Ended.IsZero() {
			continue
		}
		facets := map[string]any{"stoker_trial": facet(ownURL+"StokerTrialRunFacet", map[string]any{
			"trial": trial.ID, "status": string(trial.Status), "metrics": orEmpty(trial.Metrics), "step": trial.Step,
		})}
		if trial.Message != "" {
			facets["errorMessage"] = facet(facetsURL+"1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
				map[string]any{"message": trial.Message, "programmingLanguage": "unknown"})
		}
		all = append(all, e.as(state, trial.Ended, facets))
	}
	return all
}

// below has what all events of a trial have: it is a child run of its search.
func (t Converter) below(parent Event, pipeline, run, trial string) Event {
	e := t.base(events.FunctionTrial, pipeline, run, parent.Run.ID+"/"+trial)
	e.Run.Facets["parent"] = facet(facetsURL+"1-2-0/ParentRunFacet.json#/$defs/ParentRunFacet", map[string]any{
		"run": map[string]any{"runId": parent.Run.ID},
		"job": map[string]any{"namespace": parent.Job.Namespace, "name": parent.Job.Name},
	})
	return e
}

var trialStates = map[tune.Status]State{tune.Completed: Complete, tune.Failed: Fail, tune.Infeasible: Abort}

// Progress is an active run: for a search whose report is of a trial, that trial.
func (t Converter) Progress(f events.Function, salt string, p events.Progress) Event {
	e := t.base(f, p.Pipeline, p.Run, salt)
	if trial, ok := trialIn(p); ok {
		e = t.below(e, p.Pipeline, p.Run, trial)
	}
	return e.as(Running, p.Time, map[string]any{
		"stoker_progress": facet(ownURL+"StokerProgressRunFacet", map[string]any{
			"phase": p.Phase, "step": p.Step, "steps": p.Steps, "metrics": orEmpty(p.Metrics),
		}),
	})
}

// trialIn is the trial of a report.
func trialIn(p events.Progress) (id string, ok bool) { return strings.CutPrefix(p.Phase, "trial ") }

func hyperparameters(values map[string]any) map[string]any {
	return facet(ownURL+"StokerHyperparametersRunFacet", map[string]any{"values": values})
}

// orEmpty makes an object of no metrics, and leaves out numbers that JSON can't express.
func orEmpty(metrics map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for name, value := range metrics {
		if value-value == 0 { // neither infinite nor NaN
			all[name] = value
		}
	}
	return all
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
