package events

import (
	"errors"
	"fmt"
	"testing"
)

func TestAFailureIsFoundByItsKind(t *testing.T) {
	t.Parallel()
	inside := &Failure{Kind: FailureInput, Err: errors.New("bad")}
	if got, ok := AsKind(fmt.Errorf("read it: %w", inside), FailureInput); !ok || got != inside {
		t.Errorf("found %v", got)
	}
	for name, err := range map[string]error{"another kind": Fail(FailureCrash, inside), "none": inside.Err, "no error": nil} {
		if got, ok := AsKind(err, FailureInput); ok {
			t.Errorf("%s: found %v", name, got)
		}
	}
}
