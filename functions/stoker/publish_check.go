package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/spelling"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// checkEffect refuses an event that its run would ignore, and returns what is worth knowing of another. With anyway nothing is refused.
// Who may publish and not read is told that nothing was checked.
func (a *app) checkEffect(ctx context.Context, box events.Letterbox, event events.Fact, anyway bool) (note string, err error) {
	effect, err := submit.Check(ctx, box, event)
	none, ignored := errors.AsType[*submit.NoEffect](err)
	switch {
	case errors.Is(err, events.ErrRefused):
		return fmt.Sprintf("not checked whether run %s still takes this event: these credentials may publish, and not read pipelines and runs", event.Run), nil
	case ignored && anyway:
		return "published with --anyway, and ignored unless that changes: " + none.Why, nil
	case ignored:
		return "", a.refusal(none)
	case err != nil:
		return "", fmt.Errorf("check what %s of run %s would do: %w", event.Data.Kind(), event.Run, err)
	}
	if effect.Repeats == 0 {
		return effect.Note, nil
	}
	err = submit.Ignored(ctx, box, event, effect.Repeats)
	if none, ignored := errors.AsType[*submit.NoEffect](err); ignored {
		return fmt.Sprintf("event %d is ignored: %s", effect.Repeats, none.Why), nil
	}
	return "", err
}

// refusal adds to the error of an event without effect what to do instead.
func (a *app) refusal(none *submit.NoEffect) error {
	event := none.Event
	if none.Unknown {
		hint := "; "
		if similar := spelling.Suggestion(event.Pipeline, none.Applied); similar != "" {
			hint = similar + " " // it ends with a question mark
		}
		return exit.NotFound(fmt.Errorf("%w%s`%s` deploys one, --anyway publishes the event all the same", none, hint, a.command("apply FILE")))
	}
	of := quoted(event.Run) + " --pipeline " + event.Pipeline
	if events.RequestOf(event.Data).Force {
		return fmt.Errorf("%w; publish it under another --run, or train this run anew: `%s`", none, a.command("replay --run "+of+" --force"))
	}
	return fmt.Errorf("%w; publish it under another --run, or start this run's inputs again: `%s`", none, a.command("runs rerun "+of))
}
