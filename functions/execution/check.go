package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Bounds of a check where the pipeline sets none.
const (
	checkTime   = 15 * time.Minute
	checkMemory = 4 << 30 // bytes
)

// CheckFiles has files that others made checked in a child process, within the limits of r. An
// answer that refuses them is returned as it is; errors are *events.Failures. It never fails for
// what the process printed: a graph decides that.
func (a *Attempt) CheckFiles(ctx context.Context, q modelcheck.Question, r pipeline.Resources) (answer modelcheck.Answer, err error) {
	ctx, span := telemetry.Start(ctx, "check")
	defer span.End(&err)
	question, err := json.Marshal(a.question(q))
	if err != nil {
		return answer, fmt.Errorf("write what is to be checked: %w", err)
	}
	limits := runner.Limits{
		Timeout: cmp.Or(r.Timeout.Duration(), checkTime), MemoryBytes: cmp.Or(r.Memory.Bytes(), checkMemory), Grace: a.executor.opts.Grace,
		Reads: a.Workspace.dir,
	}
	text, err := a.executor.runner.Check(ctx, question, limits)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		return modelcheck.Answer{}, checkFailure(err)
	}
	return answer, nil
}

// question is q with what the operator allows.
func (a *Attempt) question(q modelcheck.Question) modelcheck.Question {
	q.ExtraOps = a.executor.opts.GraphOps
	return q
}

// checkFailure says whose fault it is that a check did not end. Files that need more memory or time
// than the job may have, or break the process that reads them, are refused: another attempt would
// find the same.
func checkFailure(err error) error {
	failed, ok := errors.AsType[*runner.Error](err)
	if !ok {
		return events.Fail(events.FailureUnavailable, err)
	}
	switch failed.Kind {
	case runner.KindStopped, runner.KindHost:
		return events.Fail(events.FailureUnavailable, fmt.Errorf("check files: %w", failed.Err))
	case runner.KindCrash:
		return events.Fail(events.FailureCrash, fmt.Errorf("check files: %w", failed.Err))
	default:
		return CheckFailure(fmt.Errorf("check files: %w", failed.Err))
	}
}
