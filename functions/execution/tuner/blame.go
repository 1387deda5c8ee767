package tuner

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
)

// errStudyOver is why a process is ended that didn't end with its study.
var errStudyOver = errors.New("the study is over")

// crashes counts by trial how often a process crashed with it.
type crashes map[string]int

// blame is what the end of a process means, one that works on trial after trial: if it had one in its hands, that one is to blame, at once
// for an exception and in the end for crashes. Nil: there may be more to do.
func (s *seat) blame(ctx context.Context, err error, crashes crashes) error {
	study := s.Now()
	mine := study.Of(s.me.Job)
	if err == nil || mine == nil || mine.Owner != s.me || ctx.Err() != nil {
		return notOver(err)
	}
	ended := tune.Ended{Trial: mine.ID, Status: tune.Invalid, Message: errStudyOver.Error()}
	if !errors.Is(err, errStudyOver) {
		failure, told := errors.AsType[*events.Failure](err)
		switch {
		case !told:
			return err
		case failure.Kind == events.FailureModule:
		case failure.Kind != events.FailureCrash && failure.Kind != events.FailureResources:
			return err
		default:
			crashes[mine.ID]++
			if crashes[mine.ID] < s.searching.MaxCrashes {
				s.log.WarnContext(ctx, "a process has crashed; its trial begins again", "trial", mine.ID, "crashes", crashes[mine.ID], "error", err)
				return nil
			}
		}
		ended = search.Failed(mine.ID, search.Said(failure.Error(), failure.LogTail))
	}
	return (&desk{seat: s}).End(ctx, ended)
}

// notOver is err, unless it is that the study is over: that is no error.
func notOver(err error) error {
	if errors.Is(err, errStudyOver) {
		return nil
	}
	return err
}

// endWithStudy calls end when the study is over, and its process has had time to find out.
func (s *seat) endWithStudy(ctx context.Context, end func()) {
	if s.Over(ctx, func(tune.Study) bool { return false }) {
		grace(ctx, s.Log)
		end()
	}
}
