// Package publish has the commands of upstream and of deployment: pipelines and their modules,
// artifacts, events.
package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/model"
	"github.com/stoker-ml/stoker/functions/stoker/run"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newApply(a),
		newPipelines(a),
		newPause(a),
		newResume(a),
		newUpload(a),
		newPublish(a),
	}
}

// published is the result of publish.
type published struct {
	ID        string `json:"id"`
	Pipeline  string `json:"pipeline"`
	Run       string `json:"run"`
	Sequence  uint64 `json:"sequence"`
	Duplicate bool   `json:"duplicate"`
	TraceID   string `json:"trace_id"`       // of the run, if it is traced
	Note      string `json:"note,omitempty"` // why the event has no effect, or a part of it
}

// publishFlags are the flags of `stoker publish`.
type publishFlags struct {
	kind, pipeline, run string // for a file that holds only data
	wait, force, anyway bool
	dryRun              bool
	timeout             time.Duration
	addresses           addressFlags
}

func newPublish(a *app.App) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:         "publish (FILE | KIND PIPELINE/RUN)",
		GroupID:     app.Act,
		Annotations: app.Info{Role: access.Upstream}.Annotations(),
		Short:       "Publish an event",
		Long: "Publishes an event of a kind for a run, with the addresses of artifacts as flags; or a CloudEvent in a file, as JSON (structured\n" +
			"mode), - for standard input. With --kind, --pipeline and --run the file holds the event's data only; the other attributes\n" +
			"are added. Publishing the same event again is harmless and adds nothing.\n\n" +
			"An event that its run would ignore is rejected: one of a pipeline that is not applied, other data of a kind that the run has, a\n" +
			"kind that the pipeline does not use, and any event of a run that is complete or has ended. So is a model.blessed of\n" +
			"an address that is not a model of the pipeline. If another event arrives between this check and the publication, --wait and\n" +
			"`stoker runs show` report that the event was ignored.\n\n" +
			"TRACEPARENT and TRACESTATE in the environment set the trace of the run, unless the event has one.",
		Example: `  stoker publish transform.ready penguin/monday --transform-graph s3://stoker/t/4 --transformed-examples s3://stoker/e/4 --wait
  stoker publish examples.ready penguin/monday --examples s3://stoker/e/4 --dry-run
  stoker publish event.json --wait
  echo '{"transform_graph": "s3://stoker/t/4"}' | stoker publish - --kind transform.ready --pipeline penguin --run monday`,
		Args:              fileOrKindAndRun,
		ValidArgsFunction: f.completeArguments(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			event, err := f.event(cmd, args)
			if err != nil {
				return err
			}
			if _, starts := event.Data.(events.RunData); f.wait && !starts {
				return exit.Usage(fmt.Errorf("--wait: a %s starts no run", event.Data.Kind()))
			}
			a.GoOn(&event)
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				note, err := f.checkEffect(ctx, a, bus, event)
				if err != nil {
					return err
				}
				if blessed, ok := event.Data.(*events.ModelBlessed); ok && !f.anyway && note == "" {
					if note, err = checkBlessed(ctx, a, bus, event, blessed); err != nil {
						return err
					}
				}
				if note != "" {
					// Also with -q: it says that the event has no effect.
					fmt.Fprintln(a.Stderr, terminal.Line(note))
				}
				if f.dryRun {
					return printEvent(a, event, note)
				}
				if !f.wait {
					return publishEvent(ctx, a, bus, event, note)
				}
				return run.PublishAndFollow(ctx, a, bus, []events.Event{event}, f.timeout)
			})
		},
	}
	f.add(a, cmd)
	return cmd
}

func fileOrKindAndRun(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	err := fmt.Errorf("%s: expected a file, or a kind and PIPELINE/RUN, got %s", cmd.CommandPath(), app.Got(args))
	if len(args) == 3 && slices.Contains(app.PublishedKinds(), args[0]) && events.CheckName("pipeline", args[1]) == nil {
		return fmt.Errorf("%w; did you mean %s?", err, app.JoinRun(args[1], args[2]))
	}
	return err
}

func (f *publishFlags) add(a *app.App, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "kind of the event, if the file holds only its data: "+strings.Join(app.PublishedKinds(), ", "))
	app.CompleteFlag(cmd, "kind", app.PublishedKinds()...)
	a.AddPipelineFlag(cmd, &f.pipeline, "pipeline of the event")
	a.AddRunFlag(cmd, &f.run, "run key of the event")
	flags.BoolVar(&f.force, "force", false,
		"search and train even if the same was done before; for a run that already has its job, use replay --force")
	flags.BoolVar(&f.anyway, "anyway", false, "publish events that would be ignored too, for example before the pipeline is applied")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check the event and print it, but don't publish it")
	f.addresses.add(flags)
	flags.BoolVar(&f.wait, "wait", false, "follow the run until it has ended")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long --wait waits; default: forever")
}

// event returns the event to publish: the one of the arguments and address flags, the one in a
// file, or its data with the attributes of the flags.
func (f publishFlags) event(cmd *cobra.Command, args []string) (events.Event, error) {
	together := app.Together(cmd, "kind", "pipeline", "run")
	if pipeline, run, both := strings.Cut(f.run, "/"); both && f.pipeline == "" && f.kind != "" {
		f.pipeline, f.run, together = pipeline, run, nil
	}
	err := errors.Join(together, checkKind(f.kind), app.CheckTimeout(f.wait, f.timeout))
	if f.dryRun && f.wait {
		err = errors.Join(err, exit.Usage(errors.New("--dry-run and --wait: expected one of them")))
	}
	if err != nil {
		return events.Event{}, err
	}
	var event events.Event
	from := args[0]
	if len(args) == 2 {
		event, err = f.fromArguments(args[0], args[1])
	} else if flag := f.addresses.given(); flag != "" {
		return event, exit.Usage(fmt.Errorf("--%s: expected `stoker publish KIND PIPELINE/RUN --%[1]s ...`; a file has all data of its event", flag))
	} else {
		event, err = f.fromFile(cmd, args[0])
	}
	if err != nil {
		return event, fmt.Errorf("%s: %w", from, err)
	}
	if f.force {
		return forced(event, len(args) == 2 || f.kind != "")
	}
	return event, nil
}

// fromArguments returns an event of the kind and the run that the arguments name.
func (f publishFlags) fromArguments(kind, name string) (events.Event, error) {
	pipeline, run, ok := strings.Cut(name, "/")
	switch {
	case f.kind != "":
		return events.Event{}, exit.Usage(errors.New("--kind, --pipeline and --run: expected a file with the event's data"))
	case !slices.Contains(app.PublishedKinds(), kind):
		return events.Event{}, exit.Usage(unknownKind(kind, name))
	case !ok || run == "":
		return events.Event{}, exit.Usage(fmt.Errorf("%s: expected PIPELINE/RUN, like penguin/monday", name))
	}
	data, err := f.addresses.data(events.Kind(kind))
	if err != nil {
		return events.Event{}, err
	}
	event, err := readEventOrData(data, kind, pipeline, run)
	if err != nil {
		return event, exit.Usage(f.addresses.named(err))
	}
	return event, nil
}

// unknownKind returns the error for a kind that no publisher publishes, with the likely mistake.
// name is the argument after it.
func unknownKind(kind, name string) error {
	known := app.PublishedKinds()
	switch {
	case slices.Contains(known, name):
		return fmt.Errorf("expected the kind first: `stoker publish %s %s`", name, app.Quoted(kind))
	case slices.Contains(events.Kinds(), events.Kind(kind)):
		return fmt.Errorf("only Stoker itself publishes this kind: expected one of %s", strings.Join(known, ", "))
	}
	return fmt.Errorf("no such kind: expected one of %s%s", strings.Join(known, ", "), spelling.Suggestion(kind, known))
}

func (f publishFlags) fromFile(cmd *cobra.Command, file string) (events.Event, error) {
	text, err := readInput(cmd.InOrStdin(), file)
	kind, rest, words := strings.Cut(file, " ")
	switch {
	case errors.Is(err, fs.ErrNotExist) && slices.Contains(app.PublishedKinds(), kind) && words:
		return events.Event{}, exit.Usage(fmt.Errorf("expected two words: `stoker publish %s %s`", kind, app.Quoted(rest)))
	case errors.Is(err, fs.ErrNotExist) && slices.Contains(app.PublishedKinds(), kind):
		return events.Event{}, exit.Usage(errors.New("expected PIPELINE/RUN after the kind, like penguin/monday"))
	case err != nil:
		return events.Event{}, app.Cause(err) // the caller names the file
	}
	return readEventOrData(text, f.kind, f.pipeline, f.run)
}

// completeArguments completes a kind or a file, then PIPELINE/.
func (f *publishFlags) completeArguments(a *app.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return app.PublishedKinds(), cobra.ShellCompDirectiveDefault
		case 1:
			names, directive := a.PipelineNames(cmd, args, word)
			for i := range names {
				names[i] += "/"
			}
			return names, directive | cobra.ShellCompDirectiveNoSpace
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// printEvent prints an event that is not published.
func printEvent(a *app.App, event events.Event, note string) error {
	_, body, err := events.EncodeStructured(event)
	if err != nil {
		return err
	}
	return a.Print(json.RawMessage(body), func(w io.Writer) {
		fmt.Fprintf(w, "%s of run %s/%s is valid; nothing was published\n%s", event.Data.Kind(), event.Pipeline, event.Run, terminal.YAMLOf(body))
		if note != "" {
			fmt.Fprintf(w, "note: %s\n", note)
		}
	})
}

func checkKind(kind string) error {
	if kind == "" || slices.Contains(app.PublishedKinds(), kind) {
		return nil
	}
	return exit.Usage(fmt.Errorf("--kind %s: expected one of %s", kind, strings.Join(app.PublishedKinds(), ", ")))
}

func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// readEventOrData parses a whole event, or data whose other attributes are flags. Equal data of one
// run give the same event.
func readEventOrData(text []byte, kind, pipeline, run string) (events.Event, error) {
	if kind == "" {
		return readEvent(text)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return events.Event{}, fmt.Errorf("expected the event's data as a JSON object: %w", app.JSONError(err))
	}
	body, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": events.DerivedID(kind, pipeline, run, string(text)), "source": "/stoker/cli",
		"type": events.Kind(kind).Type(), "subject": pipeline, "run": run,
		"datacontenttype": "application/json", "data": json.RawMessage(text),
	})
	if err != nil {
		return events.Event{}, err
	}
	event, err := events.Decode(nil, body)
	if err != nil {
		err = fmt.Errorf("%w%s", err, misspelled(err, members))
	}
	return event, err
}

// misspelled returns, for the end of an error about a member that is missing, the one that was
// probably meant to be it.
func misspelled(err error, members map[string]any) string {
	wrong, ok := errors.AsType[*events.Invalid](err)
	if !ok || wrong.Got != "" {
		return ""
	}
	missing := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
	for _, member := range slices.Sorted(maps.Keys(members)) {
		if spelling.Suggestion(member, []string{missing}) != "" {
			return fmt.Sprintf("; is %q meant?", member)
		}
	}
	return ""
}

// forced returns the event with data.force set. An id that was derived from its data changes: it is
// another request.
func forced(event events.Event, derived bool) (events.Event, error) {
	data, ok := events.WithForce(event.Data, true)
	if !ok {
		return event, exit.Usage(fmt.Errorf("--force: a %s does not request training", event.Data.Kind()))
	}
	event.Data = data
	if derived {
		event.ID = events.DerivedID(event.ID, "force")
	}
	return event, nil
}

// readEvent parses a whole event. Data alone looks like an event without any attributes.
func readEvent(text []byte) (events.Event, error) {
	event, err := events.Decode(nil, text)
	var envelope struct {
		SpecVersion any `json:"specversion"`
	}
	if err != nil && json.Unmarshal(text, &envelope) == nil && envelope.SpecVersion == nil {
		return event, fmt.Errorf("expected a CloudEvent, or give --kind, --pipeline and --run with its data: %w", err)
	}
	return event, err
}

func publishEvent(ctx context.Context, a *app.App, bus events.EventLog, event events.Event, note string) error {
	receipt, err := bus.Publish(ctx, event)
	if err != nil {
		return err
	}
	return a.Print(published{event.ID, event.Pipeline, event.Run, receipt.Sequence, receipt.Duplicate, app.TraceID(event), note}, func(w io.Writer) {
		if receipt.Duplicate {
			fmt.Fprintf(w, "%s of run %s was published before, as event %d\n", event.Data.Kind(), event.Run, receipt.Sequence)
			return
		}
		fmt.Fprintf(w, "%s of run %s is event %d\n", event.Data.Kind(), event.Run, receipt.Sequence)
	})
}

// checkEffect returns an error for an event that its run would ignore, and notes on others. With
// --anyway there is no error. A publisher without read permission gets a note that nothing was
// checked.
func (f publishFlags) checkEffect(ctx context.Context, a *app.App, bus events.Bus, event events.Event) (note string, err error) {
	effect, err := submit.Check(ctx, bus, event)
	none, ignored := errors.AsType[*submit.NoEffect](err)
	switch {
	case errors.Is(err, events.ErrRefused):
		return fmt.Sprintf("not checked whether run %s still accepts this event: these credentials may publish, but not read pipelines and runs", event.Run), nil
	case ignored && f.anyway:
		return "published with --anyway, but ignored unless this changes: " + none.Why, nil
	case ignored:
		return "", run.Refusal(a, none)
	case err != nil:
		return "", fmt.Errorf("check what %s of run %s would do: %w", event.Data.Kind(), event.Run, err)
	}
	if effect.Repeats == 0 {
		return effect.Note, nil
	}
	err = submit.Ignored(ctx, bus, event, effect.Repeats)
	if none, ignored := errors.AsType[*submit.NoEffect](err); ignored {
		return fmt.Sprintf("event %d is ignored: %s", effect.Repeats, none.Why), nil
	}
	if err == nil && f.wait {
		note = fmt.Sprintf("the same event was published before, as event %d: nothing is started again, this follows the run that it started", effect.Repeats)
	}
	return note, err
}

// checkBlessed returns an error for a model.blessed whose address is no model of the event's
// pipeline, since no run would start from it. A model announced in the log is valid; otherwise the
// store decides. Without a store the event is published with a note.
func checkBlessed(ctx context.Context, a *app.App, bus events.EventLog, event events.Event, blessed *events.ModelBlessed) (note string, err error) {
	models, err := model.ListModels(ctx, bus, events.Query{Pipeline: event.Pipeline})
	if err != nil && !errors.Is(err, events.ErrRefused) {
		return "", err
	}
	address := strings.TrimRight(blessed.Model, "/")
	for _, model := range models {
		if model.Model == address {
			return "", nil
		}
	}
	if at, err := a.StoreTarget(); err != nil {
		return notChecked(address), nil
	} else if _, err := at.Store(); err != nil {
		return notChecked(address), nil
	}
	ref, err := storage.ParseRef(address)
	if err != nil {
		return "", err
	}
	made, byStoker := storage.ExecutionAt(address)
	var stored storage.Listing
	err = a.WithStore(ctx, func(ctx context.Context, store storage.Store, _ storage.Ref) (err error) {
		stored, err = storage.List(ctx, store, ref)
		return err
	})
	switch hint := "`" + a.Command("models --pipeline "+event.Pipeline) + "` lists its models, --anyway publishes the event nevertheless"; {
	case errors.Is(err, storage.ErrNotFound):
		return "", exit.NotFound(fmt.Errorf("%s of pipeline %s: nothing is stored at %s: %s", event.Data.Kind(), event.Pipeline, address, hint))
	case err != nil:
		// Publishers need no access to the store.
		return fmt.Sprintf("not checked whether %s is a model: %v", address, err), nil
	case !byStoker || stored.Out == nil || stored.Out.Type != "Model":
		return "", fmt.Errorf("%s of pipeline %s: %s is not a model that Stoker trained: %s", event.Data.Kind(), event.Pipeline, address, hint)
	case path.Base(path.Dir(made.Root.Key)) != event.Pipeline: // <root>/<pipeline>/<component>
		return "", fmt.Errorf("%s of pipeline %s: %s is a model of another pipeline: %s", event.Data.Kind(), event.Pipeline, address, hint)
	}
	return "", nil
}

func notChecked(address string) string {
	return fmt.Sprintf("not checked whether %s is a model: the log has no model at this address, and no object store is configured", address)
}
