package console

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"strconv"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// action does one thing and returns the page to show next. guard has checked that the sender may
// act.
type action func(r *http.Request) (then template.URL, err error)

func (c *Console) actions() map[string]action {
	return map[string]action{
		"/cancel":          c.cancelRun,
		"/rerun":           c.rerun,
		"/pause":           c.admissionAction(dispatch.Pause),
		"/rollback":        c.rollback,
		"/remove":          c.removePipeline,
		"/resume":          c.admissionAction(dispatch.Resume),
		"/dead/retry":      c.deadAction(c.retry),
		"/dead/retry-many": c.batchAction(doRetry),
		"/dead/drop-many":  c.batchAction(doDrop),
		"/dead/drop": c.deadAction(func(ctx context.Context, deadLetter events.DeadLetter) error {
			return c.opts.Bus.DeleteDeadLetter(ctx, deadLetter.Sequence)
		}),
	}
}

// act answers an action with a redirect to the page that shows the effect, so that reloading that
// page does not repeat the action.
func (c *Console) act(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		then, err := do(r)
		if err != nil {
			c.fail(w, r, err)
			return
		}
		c.opts.Logger.Info("done from the console", "action", r.URL.Path, "form", r.PostForm.Encode())
		http.Redirect(w, r, string(then), http.StatusSeeOther)
	}
}

func (c *Console) cancelRun(r *http.Request) (template.URL, error) {
	pipeline, run := r.PostFormValue("pipeline"), r.PostFormValue("run")
	if err := errors.Join(events.CheckName("pipeline", pipeline), events.CheckRun("run", run)); err != nil {
		return "", badRequest("%s", err)
	}
	_, err := dispatch.Cancel(r.Context(), c.opts.Bus, pipeline, run)
	if errors.Is(err, dispatch.ErrTooLate) {
		return "", &problem{http.StatusConflict, err.Error()}
	}
	return link("/run", "pipeline", pipeline, "run", run), err
}

// rerun starts the inputs of a run again, with the pipeline as it is applied now, and shows the new
// run.
func (c *Console) rerun(r *http.Request) (template.URL, error) {
	of := runs.Key{Pipeline: r.PostFormValue("pipeline"), Run: r.PostFormValue("run")}
	if err := errors.Join(events.CheckName("pipeline", of.Pipeline), events.CheckRun("run", of.Run)); err != nil {
		return "", badRequest("%s", err)
	}
	plan, err := submit.PlanRerun(r.Context(), c.opts.Bus, of, submit.RerunOptions{})
	if errors.Is(err, events.ErrNotFound) {
		return "", notThere("The inputs of run %s of pipeline %s can't be started again: %s", of.Run, of.Pipeline, err)
	}
	if err != nil {
		return "", err
	}
	for _, event := range plan.Events {
		if _, err := c.opts.Bus.Publish(r.Context(), event); err != nil {
			return "", err
		}
	}
	return link("/run", "pipeline", of.Pipeline, "run", plan.Run), nil
}

func (c *Console) admissionAction(change func(context.Context, events.Bus, string) error) action {
	return func(r *http.Request) (template.URL, error) {
		name := r.PostFormValue("pipeline")
		if err := events.CheckName("pipeline", name); err != nil {
			return "", badRequest("%s", err)
		}
		return link("/pipelines"), change(r.Context(), c.opts.Bus, name)
	}
}

// deadAction returns an action on the dead letter of a number.
func (c *Console) deadAction(do func(context.Context, events.DeadLetter) error) action {
	return func(r *http.Request) (template.URL, error) {
		number, err := strconv.ParseUint(r.PostFormValue("number"), 10, 64)
		if err != nil {
			return "", badRequest("number: expected the number of a dead letter")
		}
		deadLetter, err := c.deadLetter(r.Context(), number)
		if err != nil {
			return "", err
		}
		if err := do(r.Context(), deadLetter); err != nil {
			return "", err
		}
		if err := c.model.readDead(r.Context()); err != nil {
			c.opts.Logger.Warn("dead letters not read; retrying", "error", err)
		}
		return link("/dead"), nil
	}
}

func (c *Console) retry(ctx context.Context, deadLetter events.DeadLetter) error {
	dispatcher, err := dispatch.New(ctx, c.opts.Bus, c.opts.Logger)
	if err != nil {
		return err
	}
	return replay.Retry(ctx, c.opts.Bus, dispatcher, deadLetter)
}

// deadLetter finds a dead letter by its number.
func (c *Console) deadLetter(ctx context.Context, number uint64) (events.DeadLetter, error) {
	for deadLetter, err := range c.opts.Bus.DeadLetters(ctx) {
		if err != nil {
			return deadLetter, err
		}
		if deadLetter.Sequence == number {
			return deadLetter, nil
		}
	}
	return events.DeadLetter{}, notThere("There is no dead letter %d: it was retried or dropped.", number)
}
