// Package modelchecktest checks models in the test's own process, for tests without module
// processes.
package modelchecktest

import (
	"context"
	"encoding/json"

	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// Here implements the method Check of execution.Runner.
type Here struct{}

// Check implements execution.Runner.
func (Here) Check(ctx context.Context, question json.RawMessage, _ runner.Limits) (json.RawMessage, error) {
	answer, err := modelcheck.Serve(ctx, question)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}
