package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/studies"
)

// withStudy finds the study that the user means and does something with it.
func (a *app) withStudy(ctx context.Context, word string, do func(context.Context, events.Letterbox, events.Study) error) error {
	return a.withBus(ctx, func(ctx context.Context, box events.Letterbox) error {
		study, err := find.Study(ctx, box, word)
		switch {
		case errors.Is(err, events.ErrNotFound):
			return exit.NotFound(fmt.Errorf("no study %s: `%s` lists them", word, a.command("studies list")))
		case errors.Is(err, studies.ErrAmbiguous):
			return exit.Usage(err)
		case err != nil:
			return err
		}
		return do(ctx, box, study)
	})
}
