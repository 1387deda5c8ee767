package oracle

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// maxParameters is how many parameters a space from the wire may have: far more than anybody searches.
const maxParameters = 10_000

// readSpace is a space as the wire has it: by type, in KerasTuner's order of types. Parents may stand behind their children,
// which Space.Join sets right.
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

// readStep is an Int's step: a linear one has a step of 1 where none is given.
func readStep(p *oraclepb.Int) float64 {
	if p.GetStep() == 0 && readSampling(p.GetSampling()) == space.Linear {
		return 1
	}
	return float64(p.GetStep())
}

func readSampling(told oraclepb.Sampling) space.Sampling {
	switch told {
	case oraclepb.Sampling_LOG:
		return space.Log
	case oraclepb.Sampling_REVERSE_LOG:
		return space.ReverseLog
	default:
		return space.Linear
	}
}

func readConditions(told []*oraclepb.Condition) (conditions []space.Condition) {
	for _, c := range told {
		conditions = append(conditions, space.Condition{Parent: c.GetParent().GetName(), Values: readValues(c.GetParent().GetValues())})
	}
	return conditions
}

func readValues(told []*oraclepb.Value) (values []any) {
	for _, v := range told {
		values = append(values, readValue(v))
	}
	return values
}

// readValue is nil where there is none.
func readValue(told *oraclepb.Value) any {
	switch v := told.GetKind().(type) {
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
