package join_test

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/infra/compat"
)

func TestJoinsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "join", Of: join.Join{}, Again: func(text []byte) ([]byte, error) {
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

func TestAdmissionsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "admission", Of: join.Admission{}, Again: func(text []byte) ([]byte, error) {
		var admission join.Admission
		if err := json.Unmarshal(text, &admission); err != nil {
			return nil, err
		}
		return json.Marshal(admission)
	}}.Check(t)
}
