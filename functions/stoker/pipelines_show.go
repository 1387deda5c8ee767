package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// shownPipeline is what `stoker pipelines show` prints.
type shownPipeline struct {
	Pipeline      string            `json:"pipeline"`
	Revision      uint64            `json:"revision"`
	Applied       time.Time         `json:"applied"`
	Current       bool              `json:"current"` // it is the revision that is applied
	Revisions     []shownRevision   `json:"revisions"`
	Configuration json.RawMessage   `json:"configuration"` // with every default filled in and secrets hidden
	Against       uint64            `json:"against,omitempty"`
	Changes       []pipeline.Change `json:"changes,omitempty"` // from Against to Revision
}

// shownRevision is one that the pipeline had.
type shownRevision struct {
	Revision uint64    `json:"revision"`
	Applied  time.Time `json:"applied"`
	Removed  bool      `json:"removed,omitempty"`
}

func newPipelinesShow(app *app) *cobra.Command {
	var revision, against uint64
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a pipeline with its defaults, and what has changed",
		Long: "Shows a pipeline as it counts, with every default filled in, and the revisions that it had. A run keeps the revision that was applied\n" +
			"when its events had come: `stoker runs show` names it. What is printed can be applied again, with its secrets: these are shown as " + mask.Hidden + ".",
		Example: "  stoker pipelines show penguin\n" +
			"  stoker pipelines show penguin --revision 7\n" +
			"  stoker pipelines show penguin --diff 7   # what has changed since revision 7",
		Args: exactly(1, "a pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				shown, err := app.findPipeline(ctx, box, args[0], revision, against)
				if err != nil {
					return err
				}
				return app.print(shown, shown.table)
			})
		},
	}
	cmd.Flags().Uint64Var(&revision, "revision", 0, "show it as it was at this revision; default: as it is applied")
	cmd.Flags().Uint64Var(&against, "diff", 0, "show only what has changed since this revision")
	return cmd
}

// findPipeline reads a pipeline at a revision, 0 for the last one, and compares it with another one, 0 for none.
func (a *app) findPipeline(ctx context.Context, box events.Letterbox, name string, revision, against uint64) (shown shownPipeline, err error) {
	all, err := dispatch.Revisions(ctx, box, name)
	if errors.Is(err, events.ErrNotFound) {
		return shown, a.noPipeline(ctx, box, name)
	}
	if err != nil {
		return shown, err
	}
	shown = shownPipeline{Pipeline: name}
	last := all[len(all)-1]
	if revision == 0 && last.Removed {
		return shown, exit.NotFound(fmt.Errorf("pipeline %s was removed; `%s` shows it as it was", name,
			a.command(fmt.Sprintf("pipelines show %s --revision %d", name, all[max(0, len(all)-2)].Number))))
	}
	at, err := revisionOf(all, name, cmp.Or(revision, last.Number))
	if err != nil {
		return shown, err
	}
	shown.Revision, shown.Applied, shown.Current = at.Number, at.Applied, at.Number == last.Number
	for _, r := range all {
		shown.Revisions = append(shown.Revisions, shownRevision{r.Number, r.Applied, r.Removed})
	}
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

// revisionOf is one that can be shown.
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
	terminal.Row(w, "pipeline", s.Pipeline)
	terminal.Row(w, "revision", fmt.Sprintf("%d, applied %s%s", s.Revision, terminal.Time(s.Applied), map[bool]string{false: "; a newer one is applied, or it was removed"}[s.Current]))
	if s.Against != 0 {
		s.changes(w)
		return
	}
	for i, r := range s.Revisions {
		state := "applied "
		if r.Removed {
			state = "removed "
		}
		terminal.Row(w, map[bool]string{true: "revisions"}[i == 0], fmt.Sprintf("%d  %s%s", r.Revision, state, terminal.Time(r.Applied)))
	}
	fmt.Fprintf(w, "\n%s", yamlOf(s.Configuration))
}

// changes are the lines of a diff.
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

// yamlOf is a JSON text as YAML, which people read and a pipeline file is; the JSON itself where that can't be had.
func yamlOf(text json.RawMessage) string {
	out, err := yaml.JSONToYAML(text)
	if err != nil {
		return string(text) + "\n"
	}
	return string(out)
}
