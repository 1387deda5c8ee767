package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// pipelinesInfo describes both `stoker pipelines` and `stoker pipelines list`.
var pipelinesInfo = app.Info{Role: access.Console, Output: app.List, Names: "the name",
	Always: "pipeline revision applied tuned", Optional: "module wait_for error",
}

func newPipelines(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "pipelines",
		GroupID:     app.Look,
		Annotations: pipelinesInfo.Annotations(),
		Short:       "List, show, roll back and remove pipelines",
		Args:        app.NoArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return listPipelines(cmd.Context(), a) },
	}
	list := &cobra.Command{
		Use:         "list",
		Annotations: pipelinesInfo.Annotations(),
		Short:       "List pipelines",
		Example:     "  stoker pipelines list",
		Args:        app.NoArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return listPipelines(cmd.Context(), a) },
	}
	cmd.AddCommand(list, newPipelinesShow(a), newPipelinesRollback(a), newPipelinesRemove(a))
	return cmd
}

// listedPipeline is a line of `stoker pipelines list`.
type listedPipeline struct {
	Pipeline string    `json:"pipeline"`
	Revision uint64    `json:"revision"`
	Applied  time.Time `json:"applied"`
	Module   string    `json:"module,omitempty"`
	WaitFor  []string  `json:"wait_for,omitempty"`
	Tuned    bool      `json:"tuned"`
	Error    string    `json:"error,omitempty"` // why this Stoker can't read it
}

func listPipelines(ctx context.Context, a *app.App) error {
	return a.WithBus(ctx, func(ctx context.Context, bus events.Bus) error {
		index := runs.Open(bus, runs.Options{})
		if err := index.List(ctx, events.KVPipelines); err != nil {
			return err
		}
		all := []listedPipeline{}
		for name, applied := range index.Applied() {
			line := listedPipeline{Pipeline: name, Revision: applied.Revision, Applied: applied.Applied}
			if applied.Err != nil {
				line.Error = applied.Err.Error()
			} else {
				line.Module, line.WaitFor, line.Tuned = applied.Spec.Module.Path, applied.Spec.Trainer.WaitFor, applied.Spec.Tunes()
			}
			all = append(all, line)
		}
		slices.SortFunc(all, func(a, b listedPipeline) int { return strings.Compare(a.Pipeline, b.Pipeline) })
		none := "no pipelines: `" + a.Command("apply FILE") + "` deploys one"
		name := func(p listedPipeline) string { return p.Pipeline }
		return app.PrintList(a, app.Listing[listedPipeline]{Items: all, Name: name, Columns: pipelineColumns, None: none})
	})
}

var pipelineColumns = []app.Column[listedPipeline]{
	{Head: "PIPELINE", Of: func(p listedPipeline) any { return p.Pipeline }},
	{Head: "REVISION", Of: func(p listedPipeline) any { return p.Revision }},
	{Head: "APPLIED", Of: func(p listedPipeline) any { return terminal.Time(p.Applied) }},
	{Head: "WAITS FOR", Of: func(p listedPipeline) any { return strings.Join(p.WaitFor, ", ") }},
	{Head: "TUNED", Of: func(p listedPipeline) any { return map[bool]string{true: "yes", false: "no"}[p.Tuned] }},
	{Head: "MODULE", Of: func(p listedPipeline) any {
		if p.Error != "" {
			return "can't be read: " + runs.FirstLine(p.Error)
		}
		return p.Module
	}},
}

func newPipelinesRemove(a *app.App) *cobra.Command {
	var cancel bool
	cmd := &cobra.Command{
		Use:               "remove NAME",
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.PipelineNames,
		Short:             "Remove a pipeline; keep its models and runs",
		Long: "Removes a pipeline. From then on `stoker publish` rejects its events, and events of other publishers become dead letters. A pipeline\n" +
			"with runs that have not ended is not removed, unless --cancel-runs cancels them; a running job ends once its worker stops it. Models,\n" +
			"events, studies and older revisions are kept; `stoker apply` restores the pipeline.",
		Example: "  stoker pipelines remove penguin",
		Args:    app.Exactly(1, "a pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				return removePipeline(ctx, a, bus, args[0], cancel)
			})
		},
	}
	cmd.Flags().BoolVar(&cancel, "cancel-runs", false, "cancel the runs that have not ended, then remove the pipeline")
	return cmd
}

// removedPipeline is the result of remove.
type removedPipeline struct {
	Pipeline  string   `json:"pipeline"`
	Revision  uint64   `json:"revision"` // that was applied
	Cancelled []string `json:"cancelled,omitempty"`
}

func removePipeline(ctx context.Context, a *app.App, bus events.Bus, name string, cancel bool) error {
	revision, cancelled, err := dispatch.Remove(ctx, bus, name, cancel)
	if active, ok := errors.AsType[*dispatch.ActiveRuns](err); ok {
		shown := active.Runs[:min(len(active.Runs), 5)]
		return fmt.Errorf("pipeline %s has %d runs that have not ended (%s): `%s` lists them; wait for them, or cancel them with --cancel-runs",
			name, len(active.Runs), strings.Join(shown, ", "), a.Command("runs --pipeline "+name))
	}
	if errors.Is(err, events.ErrNotFound) {
		return a.NoPipeline(ctx, bus, name)
	}
	if errors.Is(err, events.ErrConflict) {
		return fmt.Errorf("%w: a new revision of pipeline %s was applied meanwhile; repeat the command to remove it", err, name)
	}
	if err != nil {
		return err
	}
	return a.Print(removedPipeline{name, revision, cancelled}, func(w io.Writer) {
		for _, run := range cancelled {
			fmt.Fprintf(w, "run %s is cancelled\n", run)
		}
		fmt.Fprintf(w, "pipeline %s is removed; its last revision was %d\n", name, revision)
	})
}

// shownPipeline is the result of `stoker pipelines show`.
type shownPipeline struct {
	Pipeline  string          `json:"pipeline"`
	Revision  uint64          `json:"revision"`
	Applied   time.Time       `json:"applied"`
	Current   bool            `json:"current"` // it is the applied revision
	Revisions []shownRevision `json:"revisions"`
	// With every default set and secrets hidden.
	Configuration json.RawMessage   `json:"configuration"`
	Against       uint64            `json:"against,omitempty"`
	Changes       []pipeline.Change `json:"changes,omitempty"` // from Against to Revision
	// The pipeline file as the client sent it, without secrets.
	Source string `json:"source,omitempty"`

	sourceOnly bool
}

// shownRevision is one of the pipeline's revisions.
type shownRevision struct {
	Revision uint64    `json:"revision"`
	Applied  time.Time `json:"applied"`
	Removed  bool      `json:"removed,omitempty"`
	// As the client reported; nobody has checked it.
	By     string `json:"by,omitempty"`
	Client string `json:"client,omitempty"`
	File   string `json:"file,omitempty"`
	Of     uint64 `json:"rollback_to,omitempty"`
}

func newPipelinesShow(a *app.App) *cobra.Command {
	var revision, against uint64
	var source bool
	cmd := &cobra.Command{
		Use: "show NAME",
		Annotations: app.Info{Role: access.Console, Output: app.Object, With: "PIPELINE",
			Always: "pipeline revision applied current revisions configuration", Optional: "against changes source",
		}.Annotations(),
		ValidArgsFunction: a.PipelineNames,
		Short:             "Show a pipeline with its defaults",
		Long: "Shows the effective configuration of a pipeline, defaults included, and its revisions, with the user and the file that the client\n" +
			"reported, which nobody has checked. A run keeps the revision that was applied\n" +
			"when its events were complete: `stoker runs show` names it. To apply the output again, first replace secrets, which are shown as " + mask.Hidden + ".",
		Example: "  stoker pipelines show penguin\n" +
			"  stoker pipelines show penguin --revision 7\n" +
			"  stoker pipelines show penguin --source   # the file as it was applied\n" +
			"  stoker pipelines show penguin --diff 7   # what has changed since revision 7",
		Args: app.Exactly(1, "a pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				shown, err := findPipeline(ctx, a, bus, args[0], revision, against)
				if err != nil {
					return err
				}
				if shown.sourceOnly = source; source && shown.Source == "" {
					return exit.NotFound(fmt.Errorf("revision %d of pipeline %s has no source text: it was not applied from a file of at most %d KiB",
						shown.Revision, shown.Pipeline, pipeline.MaxSource>>10))
				}
				return a.Print(shown, shown.table)
			})
		},
	}
	cmd.Flags().Uint64Var(&revision, "revision", 0, "show this revision; default: the applied one")
	cmd.Flags().BoolVar(&source, "source", false, "show the pipeline file as it was applied, without secrets")
	cmd.Flags().Uint64Var(&against, "diff", 0, "show only what has changed since this revision")
	return cmd
}

// rolledBack is the result of rollback.
type rolledBack struct {
	Pipeline string `json:"pipeline"`
	Revision uint64 `json:"revision"`
	Changed  bool   `json:"changed"`
	To       uint64 `json:"to"` // the revision that was applied again
}

func newPipelinesRollback(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rollback NAME REVISION",
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.PipelineNames,
		Short:             "Apply an earlier revision of a pipeline again",
		Long: "Applies an earlier revision of a pipeline again, as a new revision, also after the pipeline was removed. A run whose events\n" +
			"are complete keeps its own revision. `stoker pipelines show` lists the revisions.",
		Example: "  stoker pipelines rollback penguin 7",
		Args:    app.Exactly(2, "a pipeline and the number of a revision"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return exit.Usage(fmt.Errorf("%s: expected the number of a revision of `stoker pipelines show`", args[1]))
			}
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error { return rollBack(ctx, a, bus, args[0], to) })
		},
	}
}

func rollBack(ctx context.Context, a *app.App, bus events.Bus, name string, to uint64) error {
	revision, changed, err := dispatch.Rollback(ctx, bus, name, to, dispatch.AnyRevision, pipeline.OriginBy("stoker pipelines rollback"))
	if errors.Is(err, events.ErrNotFound) {
		all, err := dispatch.Revisions(ctx, bus, name)
		if errors.Is(err, events.ErrNotFound) {
			return a.NoPipeline(ctx, bus, name)
		}
		if err == nil {
			_, err = revisionOf(all, name, to)
		}
		return err
	}
	if err != nil {
		return err
	}
	return a.Print(rolledBack{name, revision, changed, to}, func(w io.Writer) {
		fmt.Fprintf(w, "pipeline %s: revision %d, as revision %d%s\n", name, revision, to, map[bool]string{false: ", unchanged"}[changed])
	})
}

// findPipeline reads a revision of a pipeline, 0 for the last one, and compares it with another
// one, 0 for none.
func findPipeline(ctx context.Context, a *app.App, bus runs.Source, name string, revision, against uint64) (shown shownPipeline, err error) {
	all, err := dispatch.Revisions(ctx, bus, name)
	if errors.Is(err, events.ErrNotFound) {
		return shown, a.NoPipeline(ctx, bus, name)
	}
	if err != nil {
		return shown, err
	}
	shown = shownPipeline{Pipeline: name}
	last := all[len(all)-1]
	if revision == 0 && last.Removed {
		return shown, exit.NotFound(fmt.Errorf("pipeline %s was removed; `%s` shows its last revision", name,
			a.Command(fmt.Sprintf("pipelines show %s --revision %d", name, all[max(0, len(all)-2)].Number))))
	}
	at, err := revisionOf(all, name, cmp.Or(revision, last.Number))
	if err != nil {
		return shown, err
	}
	shown.Revision, shown.Applied, shown.Current = at.Number, at.Applied, at.Number == last.Number
	for _, r := range all {
		o := r.Origin
		shown.Revisions = append(shown.Revisions, shownRevision{r.Number, r.Applied, r.Removed, o.By(), o.Client, o.File, o.Of})
	}
	shown.Source = at.Spec.MaskedSource(at.Origin.Source)
	if shown.Configuration, err = at.Spec.Masked(); err != nil || against == 0 {
		return shown, err
	}
	before, err := revisionOf(all, name, against)
	if err != nil {
		return shown, err
	}
	shown.Against = against
	shown.Changes, err = pipeline.Diff(before.Spec, at.Spec)
	return shown, err
}

// revisionOf returns a revision that can be shown.
func revisionOf(all []dispatch.Revision, name string, number uint64) (dispatch.Revision, error) {
	at := slices.IndexFunc(all, func(r dispatch.Revision) bool { return r.Number == number && !r.Removed })
	if at >= 0 {
		return all[at], all[at].Err
	}
	var numbers []string
	for _, r := range all {
		if !r.Removed {
			numbers = append(numbers, fmt.Sprint(r.Number))
		}
	}
	return dispatch.Revision{}, exit.NotFound(fmt.Errorf("pipeline %s has no revision %d: expected one of %s", name, number, strings.Join(numbers, ", ")))
}

func (s shownPipeline) table(w io.Writer) {
	if s.sourceOnly {
		fmt.Fprint(w, terminal.Lines(s.Source))
		return
	}
	terminal.Row(w, "pipeline", s.Pipeline)
	terminal.Row(w, "revision", fmt.Sprintf("%d, applied %s%s", s.Revision, terminal.Time(s.Applied), map[bool]string{false: "; replaced by a newer revision, or removed"}[s.Current]))
	if s.Against != 0 {
		s.changes(w)
		return
	}
	for i, r := range s.Revisions {
		state := "applied "
		if r.Removed {
			state = "removed "
		}
		terminal.Row(w, map[bool]string{true: "revisions"}[i == 0], fmt.Sprintf("%d  %s%s%s", r.Revision, state, terminal.Time(r.Applied), r.origin()))
	}
	fmt.Fprintf(w, "\n%s", terminal.YAMLOf(s.Configuration))
}

// origin returns what the client reported about the revision, for the end of a line.
func (r shownRevision) origin() (text string) {
	if r.By != "" {
		text = " by " + r.By
	}
	if r.File != "" {
		text += " from " + r.File
	}
	if r.Of != 0 {
		text += fmt.Sprintf(", as revision %d", r.Of)
	}
	return text
}

// changes prints the lines of a diff.
func (s shownPipeline) changes(w io.Writer) {
	if len(s.Changes) == 0 {
		fmt.Fprintf(w, "nothing has changed since revision %d\n", s.Against)
	}
	for _, c := range s.Changes {
		if c.From != nil {
			fmt.Fprintf(w, "- %s: %s\n", c.Key, c.From)
		}
		if c.To != nil {
			fmt.Fprintf(w, "+ %s: %s\n", c.Key, c.To)
		}
	}
}
