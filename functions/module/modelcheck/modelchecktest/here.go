// Package modelchecktest checks models in the test's own process, for tests that run no module processes.
package modelchecktest

import (
	"context"
	"encoding/json"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// Here is the method Check of an execution.Guest.
type Here struct{}

// Check implements execution.Guest.
func (Here) Check(ctx context.Context, question json.RawMessage, _ guest.Limits) (json.RawMessage, error) {
	answer, err := modelcheck.Serve(ctx, question)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}
