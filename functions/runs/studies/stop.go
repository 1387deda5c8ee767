package studies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// ErrAmbiguous is for a name that several studies have.
var ErrAmbiguous = errors.New("not the name of one study")

// ErrFinished is for a study that has ended already: its State says why.
var ErrFinished = errors.New("finished already")

// stopPatience is how long a bus that is away is asked again.
const stopPatience = 10 * time.Second

// Stop asks for the end of a study: no trial is begun any more, those that run are stopped, and the
// best so far counts. Whoever works on the study follows its log. It returns the study with its
// end. ErrFinished if it has ended, events.ErrNotFound if nobody has begun it.
func Stop(ctx context.Context, bus events.StudyLog, name events.Study, message string) (State, error) {
	l, err := Open(ctx, bus, name, Options{})
	if err != nil {
		return State{Name: name}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	err = l.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		switch {
		case study.Entries == 0:
			return e, fmt.Errorf("study %s of pipeline %s: %w", name.ID, name.Pipeline, events.ErrNotFound)
		case study.Finished != nil:
			return e, fmt.Errorf("study %s of pipeline %s: %w (%s)", name.ID, name.Pipeline, ErrFinished, study.Finished.Why)
		}
		e.Finished = &tune.Finished{Why: tune.Stopped, Message: message}
		return e, nil
	})
	return l.State(), err
}
