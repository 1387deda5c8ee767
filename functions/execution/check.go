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

// Limits of a check for which the pipeline sets none.
const (
	checkTime   = 15 * time.Minute
	checkMemory = 4 << 30 // bytes
)

// CheckFiles checks files that others made in a child process, within the limits of r. It returns
// an answer that refuses the files as it is; its errors are *events.Failures. It ignores what the
// process printed, because a graph can decide what that is.
func (a *Attempt) CheckFiles(ctx context.Context, q modelcheck.Question, r pipeline.Resources) (answer modelcheck.Answer, err error) {
	ctx, span := telemetry.Start(ctx, "check")
	defer span.End(&err)
	question, err := json.Marshal(a.question(q))
	if err != nil {
		return answer, fmt.Errorf("write the request of a check: %w", err)
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

// question returns q with the operations that the operator allows.
func (a *Attempt) question(q modelcheck.Question) modelcheck.Question {
	q.ExtraOps = a.executor.opts.GraphOps
	return q
}

// checkFailure returns the failure of a check that did not end. Files that need more memory or time
// than the job may use, or that crash the process that reads them, are refused: another attempt
// would fail in the same way.
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
