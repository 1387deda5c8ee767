package join_test

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/infra/frozen"
)

func TestJoinsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	frozen.Format{Name: "join", Of: join.Join{}, Again: func(text []byte) ([]byte, error) {
		var j join.Join
		if err := json.Unmarshal(text, &j); err != nil {
			return nil, err
		}
		if err := j.Check(j.Pipeline, j.Run); err != nil {
			return nil, err
		}
		return json.Marshal(j)
	}}.Check(t)
}

func TestGatesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	frozen.Format{Name: "gate", Of: join.Gate{}, Again: func(text []byte) ([]byte, error) {
		var gate join.Gate
		if err := json.Unmarshal(text, &gate); err != nil {
			return nil, err
		}
		return json.Marshal(gate)
	}}.Check(t)
}
