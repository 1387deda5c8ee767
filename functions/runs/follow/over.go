package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
)

// whatEnded are the states that a run does not leave because of another fact, in words.
var whatEnded = map[string]string{
	runs.Trained: "was trained before", runs.Failed: "has failed", runs.Cancelled: "was cancelled", runs.Expired: "has expired",
}

// checkGoesOn refuses to wait for a run that was over before a fact of it was stored at sequence: nothing comes of that fact.
func checkGoesOn(ctx context.Context, box events.Letterbox, of events.Fact, sequence uint64) error {
	key := find.Key{Pipeline: of.Pipeline, Run: of.Run}
	finished, err := find.LastWords(ctx, box, events.Query{Pipeline: key.Pipeline, Run: key.Run})
	last := finished[key]
	if err != nil || last.Told.State == "" || last.Sequence >= sequence {
		return err
	}
	state, err := find.Now(ctx, box, key, last)
	if errors.Is(err, events.ErrNotFound) {
		return nil // its join is lost: the fact starts one
	}
	if how, over := whatEnded[state.State]; err == nil && over {
		err = fmt.Errorf("run %s %s (`stoker runs show %[1]s` has the whole of it); publish under another run", of.Run, how)
	}
	return err
}
