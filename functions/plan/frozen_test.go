package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/functions/plan"
	"github.com/stoker-ml/stoker/infra/frozen"
)

func TestJoinsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	frozen.Format{Name: "join", Of: plan.Join{}, Again: func(text []byte) ([]byte, error) {
		var join plan.Join
		if err := json.Unmarshal(text, &join); err != nil {
			return nil, err
		}
		if err := join.Check(join.Pipeline, join.Run); err != nil {
			return nil, err
		}
		return json.Marshal(join)
	}}.Check(t)
}

func TestGatesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	frozen.Format{Name: "gate", Of: plan.Gate{}, Again: func(text []byte) ([]byte, error) {
		var gate plan.Gate
		if err := json.Unmarshal(text, &gate); err != nil {
			return nil, err
		}
		return json.Marshal(gate)
	}}.Check(t)
}
