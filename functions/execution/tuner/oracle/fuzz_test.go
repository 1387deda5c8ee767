package oracle

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// FuzzSpace reads arbitrary spaces. A space that is accepted is sent back unchanged.
func FuzzSpace(f *testing.F) {
	for _, s := range []space.Space{
		{{Name: "n", Kind: space.Int, Min: -3, Max: 9, Step: 3, Sampling: space.Linear, Default: int64(0)}},
		{{Name: "r", Kind: space.Float, Min: 1e-3, Max: 1, Sampling: space.Log, Default: 1e-3}},
		{{Name: "b", Kind: space.Boolean, Default: true}, {Name: "f", Kind: space.Fixed, Fixed: "x", Conditions: []space.Condition{
			{Parent: "b", Values: []any{true}},
		}}},
		{{Name: "c", Kind: space.Choice, Choices: []any{int64(1), int64(2)}, Ordered: true, Default: int64(2)}},
	} {
		bytes, err := proto.Marshal(hyperparameters(s, nil).GetSpace())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var sent oraclepb.HyperParameters_Space
		if proto.Unmarshal(bytes, &sent) != nil {
			return
		}
		read, err := readSpace(&sent)
		if err != nil {
			return
		}
		joined := space.Space(nil).Join(read)
		if joined.Check() != nil {
			return
		}
		again, err := readSpace(hyperparameters(joined, joined.Defaults()).GetSpace())
		if err != nil || len(space.Space(nil).Join(again)) != len(joined) || len(joined.Join(again)) != len(joined) {
			t.Fatalf("%v is sent as %v: %v", joined, again, err)
		}
	})
}
