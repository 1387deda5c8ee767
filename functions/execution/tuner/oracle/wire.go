package oracle

import (
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// statuses are the log's statuses in KerasTuner's words. It knows no values that can't be tried: a trial of such has failed.
var statuses = map[tune.Status]oraclepb.TrialStatus{
	tune.Running:    oraclepb.TrialStatus_RUNNING,
	tune.Invalid:    oraclepb.TrialStatus_INVALID,
	tune.Completed:  oraclepb.TrialStatus_COMPLETED,
	tune.Failed:     oraclepb.TrialStatus_FAILED,
	tune.Infeasible: oraclepb.TrialStatus_FAILED,
}

// trial is what is known of a trial: of one that runs here, with what its tuner has reported so far.
func (s *Server) trial(study tune.Study, t *tune.Trial) *oraclepb.Trial {
	told := &oraclepb.Trial{
		TrialId: t.ID, Status: statuses[t.Status], Hyperparameters: hyperparameters(study.Config.Space, t.Values),
		Metrics: &oraclepb.MetricsTracker{Metrics: map[string]*oraclepb.MetricHistory{}},
	}
	if score, there := study.Score(t); there && t.Status == tune.Completed {
		told.Score = &oraclepb.Trial_Score{Value: float32(score), Step: int64(t.Step)}
	}
	for name, value := range t.Metrics {
		told.Metrics.Metrics[name] = history(study, name, map[int][]float64{t.Step: {value}})
	}
	_ = s.report(t.ID, func(r *report) {
		for name, steps := range r.byMetric() {
			told.Metrics.Metrics[name] = history(study, name, steps)
		}
	})
	return told
}

// history is a metric's values by step.
func history(study tune.Study, name string, steps map[int][]float64) *oraclepb.MetricHistory {
	direction, _ := tune.DirectionOf(name)
	for _, o := range study.Config.Objectives {
		if o.Name == name {
			direction = o.Direction
		}
	}
	h := &oraclepb.MetricHistory{Maximize: direction == tune.Max}
	for step, values := range steps {
		o := &oraclepb.MetricObservation{Step: int64(step)}
		for _, value := range values {
			o.Value = append(o.Value, float32(value))
		}
		h.Observations = append(h.Observations, o)
	}
	return h
}

// hyperparameters are a space and values in it.
func hyperparameters(s space.Space, values space.Values) *oraclepb.HyperParameters {
	lists := &oraclepb.HyperParameters_Space{}
	for _, p := range s {
		add(lists, p)
	}
	told := map[string]*oraclepb.Value{}
	for _, v := range values {
		told[v.Name] = value(v.Of)
	}
	return &oraclepb.HyperParameters{Space: lists, Values: &oraclepb.HyperParameters_Values{Values: told}}
}

// add puts a parameter into the list of its type.
func add(lists *oraclepb.HyperParameters_Space, p space.Parameter) {
	conditions := conditions(p)
	switch p.Kind {
	case space.Int:
		lists.IntSpace = append(lists.IntSpace, &oraclepb.Int{
			Name: p.Name, MinValue: int64(p.Min), MaxValue: int64(p.Max), Step: int64(p.Step), Sampling: samplings[p.Sampling],
			Default: value(p.Start()).GetIntValue(), Conditions: conditions,
		})
	case space.Float:
		lists.FloatSpace = append(lists.FloatSpace, &oraclepb.Float{
			Name: p.Name, MinValue: p.Min, MaxValue: p.Max, Step: p.Step, Sampling: samplings[p.Sampling],
			Default: value(p.Start()).GetFloatValue(), Conditions: conditions,
		})
	case space.Choice:
		lists.ChoiceSpace = append(lists.ChoiceSpace, &oraclepb.Choice{
			Name: p.Name, Values: values(p.Choices), Default: value(p.Start()), Ordered: p.Ordered, Conditions: conditions,
		})
	case space.Boolean:
		lists.BooleanSpace = append(lists.BooleanSpace, &oraclepb.Boolean{
			Name: p.Name, Default: value(p.Start()).GetBooleanValue(), Conditions: conditions,
		})
	case space.Fixed:
		lists.FixedSpace = append(lists.FixedSpace, &oraclepb.Fixed{Name: p.Name, Value: value(p.Fixed), Conditions: conditions})
	}
}

var samplings = map[space.Sampling]oraclepb.Sampling{
	"":               oraclepb.Sampling_LINEAR,
	space.Linear:     oraclepb.Sampling_LINEAR,
	space.Log:        oraclepb.Sampling_LOG,
	space.ReverseLog: oraclepb.Sampling_REVERSE_LOG,
}

func conditions(p space.Parameter) (told []*oraclepb.Condition) {
	for _, c := range p.Conditions {
		told = append(told, &oraclepb.Condition{Kind: &oraclepb.Condition_Parent_{
			Parent: &oraclepb.Condition_Parent{Name: c.Parent, Values: values(c.Values)},
		}})
	}
	return told
}

func values(of []any) (told []*oraclepb.Value) {
	for _, v := range of {
		told = append(told, value(v))
	}
	return told
}

func value(of any) *oraclepb.Value {
	switch v := of.(type) {
	case int64:
		return &oraclepb.Value{Kind: &oraclepb.Value_IntValue{IntValue: v}}
	case float64:
		return &oraclepb.Value{Kind: &oraclepb.Value_FloatValue{FloatValue: v}}
	case bool:
		return &oraclepb.Value{Kind: &oraclepb.Value_BooleanValue{BooleanValue: v}}
	case string:
		return &oraclepb.Value{Kind: &oraclepb.Value_StringValue{StringValue: v}}
	}
	return nil
}
