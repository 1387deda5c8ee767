package oracle

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// statuses maps the log's statuses to KerasTuner's. KerasTuner has none for values that can't be
// tried: a trial of such values has failed.
var statuses = map[tune.Status]oraclepb.TrialStatus{
	tune.Running:    oraclepb.TrialStatus_RUNNING,
	tune.Invalid:    oraclepb.TrialStatus_INVALID,
	tune.Completed:  oraclepb.TrialStatus_COMPLETED,
	tune.Failed:     oraclepb.TrialStatus_FAILED,
	tune.Infeasible: oraclepb.TrialStatus_FAILED,
}

// trial returns a trial as KerasTuner's message; for one that runs here, with what its tuner has
// reported so far.
func (s *Server) trial(study tune.Study, t *tune.Trial) *oraclepb.Trial {
	wire := &oraclepb.Trial{
		TrialId: t.ID, Status: statuses[t.Status], Hyperparameters: hyperparameters(study.Config.Space, t.Values),
		Metrics: &oraclepb.MetricsTracker{Metrics: map[string]*oraclepb.MetricHistory{}},
	}
	if score, there := study.Score(t); there && t.Status == tune.Completed {
		wire.Score = &oraclepb.Trial_Score{Value: float32(score), Step: int64(t.Step)}
	}
	for name, value := range t.Metrics {
		wire.Metrics.Metrics[name] = history(study, name, map[int][]float64{t.Step: {value}})
	}
	_ = s.report(t.ID, func(r *report) {
		for name, steps := range r.byMetric() {
			wire.Metrics.Metrics[name] = history(study, name, steps)
		}
	})
	return wire
}

// history returns a metric's values by step.
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

// hyperparameters returns a space and values in it as KerasTuner's message.
func hyperparameters(s space.Space, values space.Values) *oraclepb.HyperParameters {
	lists := &oraclepb.HyperParameters_Space{}
	for _, p := range s {
		add(lists, p)
	}
	wire := map[string]*oraclepb.Value{}
	for _, v := range values {
		wire[v.Name] = value(v.Of)
	}
	return &oraclepb.HyperParameters{Space: lists, Values: &oraclepb.HyperParameters_Values{Values: wire}}
}

// add adds a parameter to the list of its type.
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

func conditions(p space.Parameter) (wire []*oraclepb.Condition) {
	for _, c := range p.Conditions {
		wire = append(wire, &oraclepb.Condition{Kind: &oraclepb.Condition_Parent_{
			Parent: &oraclepb.Condition_Parent{Name: c.Parent, Values: values(c.Values)},
		}})
	}
	return wire
}

func values(of []any) (wire []*oraclepb.Value) {
	for _, v := range of {
		wire = append(wire, value(v))
	}
	return wire
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

// maxParameters limits the parameters of a space from the wire: far more than any search has.
const maxParameters = 10_000

// readSpace reads a space from the wire, which sorts it by type. Parents may come after their
// children; Space.Join reorders them.
func readSpace(lists *oraclepb.HyperParameters_Space) (s space.Space, err error) {
	for _, p := range lists.GetFixedSpace() {
		s = append(s, space.Parameter{
			Name: p.GetName(), Kind: space.Fixed, Fixed: readValue(p.GetValue()), Conditions: readConditions(p.GetConditions()),
		})
	}
	for _, p := range lists.GetFloatSpace() {
		s = append(s, space.Parameter{
			Name: p.GetName(), Kind: space.Float, Min: p.GetMinValue(), Max: p.GetMaxValue(), Step: p.GetStep(),
			Sampling: readSampling(p.GetSampling()), Default: p.GetDefault(), Conditions: readConditions(p.GetConditions()),
		})
	}
	for _, p := range lists.GetIntSpace() {
		s = append(s, space.Parameter{
			Name: p.GetName(), Kind: space.Int, Min: float64(p.GetMinValue()), Max: float64(p.GetMaxValue()), Step: readStep(p),
			Sampling: readSampling(p.GetSampling()), Default: p.GetDefault(), Conditions: readConditions(p.GetConditions()),
		})
	}
	for _, p := range lists.GetChoiceSpace() {
		s = append(s, space.Parameter{
			Name: p.GetName(), Kind: space.Choice, Choices: readValues(p.GetValues()), Ordered: p.GetOrdered(),
			Default: readValue(p.GetDefault()), Conditions: readConditions(p.GetConditions()),
		})
	}
	for _, p := range lists.GetBooleanSpace() {
		s = append(s, space.Parameter{
			Name: p.GetName(), Kind: space.Boolean, Default: p.GetDefault(), Conditions: readConditions(p.GetConditions()),
		})
	}
	if len(s) > maxParameters {
		return nil, fmt.Errorf("expected at most %d parameters, got %d", maxParameters, len(s))
	}
	for _, p := range s {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readStep returns an Int's step; a linear one without a step has 1.
func readStep(p *oraclepb.Int) float64 {
	if p.GetStep() == 0 && readSampling(p.GetSampling()) == space.Linear {
		return 1
	}
	return float64(p.GetStep())
}

func readSampling(wire oraclepb.Sampling) space.Sampling {
	switch wire {
	case oraclepb.Sampling_LOG:
		return space.Log
	case oraclepb.Sampling_REVERSE_LOG:
		return space.ReverseLog
	default:
		return space.Linear
	}
}

func readConditions(wire []*oraclepb.Condition) (conditions []space.Condition) {
	for _, c := range wire {
		conditions = append(conditions, space.Condition{Parent: c.GetParent().GetName(), Values: readValues(c.GetParent().GetValues())})
	}
	return conditions
}

func readValues(wire []*oraclepb.Value) (values []any) {
	for _, v := range wire {
		values = append(values, readValue(v))
	}
	return values
}

// readValue returns nil if there is no value.
func readValue(wire *oraclepb.Value) any {
	switch v := wire.GetKind().(type) {
	case *oraclepb.Value_IntValue:
		return v.IntValue
	case *oraclepb.Value_FloatValue:
		return v.FloatValue
	case *oraclepb.Value_BooleanValue:
		return v.BooleanValue
	case *oraclepb.Value_StringValue:
		return v.StringValue
	}
	return nil
}

// Metadata that a process which knows Stoker adds to KerasTuner's calls. A process that doesn't
// still has its trials.
const (
	// Metadata of UpdateTrial: its metrics are those at the end of an epoch, counted from 1, and
	// not a result.
	EpochKey = "stoker-epoch"
	// Metadata of CreateTrial and EndTrial: the directory in which the tuner keeps a directory for
	// each trial.
	FolderKey = "stoker-folder-bin"
	// Metadata of EndTrial: why the trial failed, for which KerasTuner's protocol has no field.
	FailureKey = "stoker-failure-bin"
)

// said returns the process's value of a key.
func said(ctx context.Context, key string) string {
	values, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(values.Get(key), "\n")
}

// epochOf returns the epoch at whose end an update is sent.
func epochOf(ctx context.Context) (int, bool) {
	epoch, err := strconv.Atoi(said(ctx, EpochKey))
	return epoch, err == nil && epoch > 0
}

// trialFolder returns where a tuner keeps a trial's files: trial_0000 and so on. It is "" if the
// tuner doesn't say: then nothing is stored for trials that continue others, and they find their
// files only if all tuners share a disk.
//
// The tuner's process names the directory, and the worker would read and write there, so a backend
// may decide which directories are the process's own.
func (s *Server) trialFolder(ctx context.Context, trial string) string {
	project := said(ctx, FolderKey)
	if !filepath.IsAbs(project) {
		return ""
	}
	if owner, asks := s.backend.(interface{ Owns(folder string) bool }); asks && !owner.Owns(project) {
		return ""
	}
	return filepath.Join(project, "trial_"+trial)
}
