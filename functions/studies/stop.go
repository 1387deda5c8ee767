package studies

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// ErrAmbiguous is for a name that several studies have.
var ErrAmbiguous = errors.New("not the name of one study")

// ErrFinished is for a study that has ended already: its State says why.
var ErrFinished = errors.New("finished already")

// Stop asks for the end of a study: no trial is begun any more, those that run are stopped, and the best so far counts. Whoever works on
// the study follows its log. It returns the study with its end. ErrFinished if it has ended, events.ErrNotFound if nobody has begun it.
func Stop(ctx context.Context, log events.Studies, name events.Study, message string) (State, error) {
	s, err := Read(ctx, log, name)
	for err == nil {
		switch {
		case s.Study.Entries == 0:
			return s, fmt.Errorf("study %s of pipeline %s: %w", name.ID, name.Pipeline, events.ErrNotFound)
		case s.Study.Finished != nil:
			return s, fmt.Errorf("study %s of pipeline %s: %w (%s)", name.ID, name.Pipeline, ErrFinished, s.Study.Finished.Why)
		}
		if err = s.finish(ctx, log, message); err == nil {
			return s, nil
		}
		if errors.Is(err, events.ErrConflict) { // somebody else was first
			err = s.readOn(ctx, log)
		}
	}
	return s, err
}

// finish appends the end behind what was read.
func (s *State) finish(ctx context.Context, log events.Studies, message string) error {
	end := tune.Entry{Finished: &tune.Finished{Why: tune.Stopped, Message: message}}
	body, err := end.Bytes()
	if err != nil {
		return err
	}
	if _, err := log.AppendStudy(ctx, s.Name, body, s.After); err != nil {
		return err
	}
	return s.readOn(ctx, log)
}
