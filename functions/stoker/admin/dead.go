package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/run"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// deadInfo describes both `stoker dead` and `stoker dead list`.
var deadInfo = app.Info{Role: access.Console, Output: app.List, Names: "the number",
	Always: "number stored dead_letter", Optional: "pipeline run",
}

func newDead(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "dead",
		GroupID:     app.Look,
		Annotations: deadInfo.Annotations(),
		Short:       "List, retry and drop dead letters",
		Long:        "Lists the messages that could not be handled, each with the reason. Subcommands group, show, retry and drop them.",
		Example: "  stoker dead\n" +
			"  stoker dead groups\n" +
			"  stoker dead -o json | jq length",
		Args: app.NoArguments,
	}
	addDead(a, cmd)
	cmd.AddCommand(newDeadList(a), newDeadGroups(a), newDeadShow(a), newDeadRetry(a), newDeadDrop(a))
	return cmd
}

func newDeadList(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Annotations: deadInfo.Annotations(), Short: "List dead letters, oldest first", Args: app.NoArguments,
		Example: "  stoker dead list\n  stoker dead list --pipeline penguin\n" +
			"  stoker dead list --group 3fa1c07b52   # as `stoker dead groups` names it\n" +
			"  stoker dead list -o name | xargs stoker dead retry",
	}
	addDead(a, cmd)
	return cmd
}

// addDead makes a command list dead letters.
func addDead(a *app.App, cmd *cobra.Command) {
	var only deadFilter
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return listDead(cmd.Context(), a, only) }
	only.addTo(a, cmd, "list only those")
}

// deadFilter selects dead letters; the zero value selects all.
type deadFilter struct{ pipeline, group string }

func (f *deadFilter) addTo(a *app.App, cmd *cobra.Command, what string) {
	a.AddPipelineFlag(cmd, &f.pipeline, what+" of this pipeline")
	cmd.Flags().StringVar(&f.group, "group", "", what+" of this group of `stoker dead groups`")
}

func (f deadFilter) selects(line replay.DeadLetter) bool {
	return (f.pipeline == "" || line.Pipeline == f.pipeline) && (f.group == "" || line.Group() == f.group)
}

// of returns the selected dead letters. A group that has none is an error, because its name may be
// mistyped.
func (f deadFilter) of(all []replay.DeadLetter) ([]replay.DeadLetter, error) {
	var groups []string
	for _, line := range all {
		if id := line.Group(); f.group != "" && strings.HasPrefix(id, f.group) && !slices.Contains(groups, id) {
			groups = append(groups, id)
		}
	}
	switch {
	case f.group == "":
	case len(groups) == 1: // its id, or a prefix of that
		f.group = groups[0]
	case len(groups) == 0:
		return nil, exit.NotFound(fmt.Errorf("no dead letter is in group %s: `stoker dead groups` lists the groups", f.group))
	default:
		return nil, exit.Usage(fmt.Errorf("%d groups begin with %s: `stoker dead groups` lists the groups", len(groups), f.group))
	}
	return slices.DeleteFunc(all, func(line replay.DeadLetter) bool { return !f.selects(line) }), nil
}

func listDead(ctx context.Context, a *app.App, only deadFilter) error {
	return a.WithBus(ctx, func(ctx context.Context, bus events.Bus) error {
		deadLetters, err := replay.DeadLetters(ctx, bus)
		if err == nil {
			deadLetters, err = only.of(deadLetters)
		}
		if err != nil {
			return err
		}
		name := func(d replay.DeadLetter) string { return strconv.FormatUint(d.Number, 10) }
		return app.PrintList(a, app.Listing[replay.DeadLetter]{Items: deadLetters, Name: name, Columns: deadColumns, None: a.NoneOf(ctx, bus, "dead letters", only.pipeline)})
	})
}

func newDeadGroups(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "groups",
		Annotations: app.Info{Role: access.Console, Output: app.List, Names: "the group",
			Always: "group kind reason count first last pipelines numbers",
		}.Annotations(),
		Short: "Group dead letters by reason, largest group first",
		Long: "Groups dead letters of the same kind whose reasons have the same first line. Numbers and hexadecimal ids, shown as #, and the name\n" +
			"of the run, shown as RUN, do not count. --group of `stoker dead list`, `retry` and `drop` takes the name of a group. The name stays the\n" +
			"same when dead letters are added or deleted.",
		Example: "  stoker dead groups\n" +
			"  stoker dead retry --group 3fa1c07b52",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				deadLetters, err := replay.DeadLetters(ctx, bus)
				if err != nil {
					return err
				}
				groups := replay.Groups(deadLetters)
				for i := range groups {
					groups[i].Reason = mask.Text(groups[i].Reason)
				}
				return app.PrintList(a, app.Listing[replay.Group]{Items: groups, Name: func(g replay.Group) string { return g.ID }, Columns: deadGroupColumns})
			})
		},
	}
}

var deadGroupColumns = []app.Column[replay.Group]{
	{Head: "GROUP", Of: func(g replay.Group) any { return g.ID }},
	{Head: "COUNT", Of: func(g replay.Group) any { return g.Count }},
	{Head: "NEWEST", Of: func(g replay.Group) any { return g.Last.Local().Format(time.DateTime) }},
	{Head: "KIND", Of: func(g replay.Group) any { return g.Kind }},
	{Head: "PIPELINES", Of: func(g replay.Group) any { return strings.Join(g.Pipelines, ", ") }},
	{Head: "REASON", Of: func(g replay.Group) any { return g.Reason }},
}

func newDeadShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show NUMBER",
		Annotations: app.Info{Role: access.Console, Output: app.Object, With: "NUMBER",
			Always: "number stored dead_letter", Optional: "pipeline run",
		}.Annotations(),
		ValidArgsFunction: a.DeadNumbers,
		Short:             "Show a dead letter: its message, reason and causes",
		Long: "Shows one dead letter: the message as received, the reason, and the events that led to it. Control characters\n" +
			"are printed as escapes such as \\x1b, and long lines are truncated with a note of their length; -o json has the whole message.",
		Example: "  stoker dead show 3",
		Args:    app.Exactly(1, "a number from `stoker dead`"),
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := parseNumbers(args)
			if err != nil {
				return err
			}
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				lines, err := pickDeadLetters(ctx, bus, numbers)
				if err != nil {
					return err
				}
				return a.Print(lines[0], func(w io.Writer) { deadLetter(w, lines[0]) })
			})
		},
	}
}

func parseNumbers(args []string) ([]uint64, error) {
	numbers := make([]uint64, len(args))
	for i, arg := range args {
		number, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("%s: expected a number from `stoker dead`", arg))
		}
		numbers[i] = number
	}
	return numbers, nil
}

var deadColumns = []app.Column[replay.DeadLetter]{
	{Head: "NUMBER", Of: func(d replay.DeadLetter) any { return d.Number }},
	{Head: "SINCE", Of: func(d replay.DeadLetter) any { return d.Stored.Local().Format(time.DateTime) }},
	{Head: "PIPELINE", Of: func(d replay.DeadLetter) any { return d.Pipeline }},
	{Head: "RUN", Of: func(d replay.DeadLetter) any { return d.Run }},
	{Head: "FROM", Of: func(d replay.DeadLetter) any { return d.From() }},
	{Head: "KIND", Of: func(d replay.DeadLetter) any { return d.DeadLetter.Reason.Kind }},
	{Head: "REASON", Of: func(d replay.DeadLetter) any { return runs.FirstLine(d.DeadLetter.Reason.Message) }},
}

// shownBody returns a message's body for display, without its secrets: a job holds its whole
// pipeline.
func shownBody(body []byte) string {
	if json.Valid(body) {
		body = mask.JSON(body)
	}
	return mask.Text(string(body))
}

func deadLetter(w io.Writer, line replay.DeadLetter) {
	terminal.Row(w, "reason", runs.FirstLine(line.DeadLetter.Reason.Message))
	terminal.Row(w, "field", line.DeadLetter.Reason.Field)
	terminal.Row(w, "pipeline", line.Pipeline)
	terminal.Row(w, "run", line.Run)
	terminal.Row(w, "from", line.From())
	terminal.Row(w, "subject", line.DeadLetter.Message.Subject)
	for _, name := range slices.Sorted(maps.Keys(line.DeadLetter.Message.Header)) {
		terminal.Row(w, name, strings.Join(line.DeadLetter.Message.Header[name], ", "))
	}
	if _, rest, more := strings.Cut(line.DeadLetter.Reason.Message, "\n"); more {
		fmt.Fprintf(w, "\n%s\n", rest)
	}
	fmt.Fprintf(w, "\n%s\n", shownBody(line.DeadLetter.Message.Body))
	for _, cause := range line.DeadLetter.Causes {
		fmt.Fprintf(w, "\ncaused by event %d, %s\n%s\n", cause.Sequence, terminal.Line(cause.Subject), shownBody(cause.Body))
	}
	fmt.Fprintf(w, "\nto retry it: `stoker dead retry %d`; to delete it: `stoker dead drop %[1]d`\n", line.Number)
	if job, ok := replay.JobOf(line.DeadLetter); ok {
		fmt.Fprintln(w, run.PinnedNote(job.Revision))
	}
}

// pickDeadLetters returns the dead letters with these numbers.
func pickDeadLetters(ctx context.Context, bus events.DeadLetterQueue, numbers []uint64) ([]replay.DeadLetter, error) {
	deadLetters, err := replay.Pick(ctx, bus, numbers)
	if errors.Is(err, events.ErrNotFound) {
		return nil, exit.NotFound(fmt.Errorf("%s: `stoker dead` lists all", strings.TrimSuffix(err.Error(), ": "+events.ErrNotFound.Error())))
	}
	return deadLetters, err
}

func newDeadRetry(a *app.App) *cobra.Command {
	return newDeadSettle(a, &cobra.Command{
		Use:               "retry NUMBER...",
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.DeadNumbers,
		Short:             "Retry dead letters",
		Example:           "  stoker dead retry 3 4\n" + "  stoker dead retry --all --pipeline penguin",
		Long: "A job returns to the queue unchanged, with its attempts reset. An event is handled as if it had just arrived; if it\n" +
			"is refused again, its dead letter stays. A bucket notification is redelivered to the bridge. Dead letters whose message was\n" +
			"handled are deleted. Events, including those that led to a job, do not change.\n\n" + run.PinnedHelp,
	}, func(ctx context.Context, bus events.Bus) (settle, error) {
		dispatcher, err := dispatch.New(ctx, bus, a.Logger())
		if err != nil {
			return settle{}, err
		}
		return settle{"retried", func(line replay.DeadLetter) error {
			run.WarnPinned(ctx, a, bus, line)
			return replay.Retry(ctx, bus, dispatcher, line.DeadLetter)
		}}, nil
	})
}

// settled is the result for one dead letter.
type settled struct {
	Number   uint64 `json:"number"`
	Pipeline string `json:"pipeline,omitempty"`
	Run      string `json:"run,omitempty"`
	From     string `json:"from"`
	Done     string `json:"done,omitempty"` // retried or dropped
	Error    string `json:"error,omitempty"`
}

func newDeadDrop(a *app.App) *cobra.Command {
	return newDeadSettle(a, &cobra.Command{
		Use:               "drop NUMBER...",
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.DeadNumbers,
		Short:             "Delete dead letters",
		Example: "  stoker dead drop 3\n" + "  stoker dead drop --group 3fa1c07b52   # as `stoker dead groups` names it\n" +
			"  stoker dead drop --all --pipeline penguin",
		Long: "Deletes dead letters permanently. Events stay in the log, and outcomes of jobs do not change.",
	}, func(ctx context.Context, bus events.Bus) (settle, error) {
		return settle{"dropped", func(line replay.DeadLetter) error {
			// Somebody else dropped it first.
			if err := bus.DeleteDeadLetter(ctx, line.Number); !errors.Is(err, events.ErrNotFound) {
				return err
			}
			return nil
		}}, nil
	})
}

// settle is one way to settle a dead letter: to retry it or to drop it.
type settle struct {
	done string // retried or dropped
	do   func(replay.DeadLetter) error
}

// newDeadSettle completes a command that settles the dead letters that its arguments or flags name.
func newDeadSettle(a *app.App, cmd *cobra.Command, open func(context.Context, events.Bus) (settle, error)) *cobra.Command {
	var all bool
	var only deadFilter
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		numbers, err := parseNumbers(args)
		if err != nil {
			return err
		}
		several := all || only.group != ""
		if several == (len(args) > 0) || only.pipeline != "" && !several {
			return exit.Usage(errors.New("expected numbers from `stoker dead`, --group, or --all, the last two optionally with --pipeline"))
		}
		return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
			how, err := open(ctx, bus)
			if err != nil {
				return err
			}
			lines, err := chosen(ctx, bus, numbers, only)
			if err != nil {
				return err
			}
			return settleAll(a, lines, how)
		})
	}
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters")
	only.addTo(a, cmd, "only those")
	return cmd
}

func chosen(ctx context.Context, bus events.DeadLetterQueue, numbers []uint64, only deadFilter) ([]replay.DeadLetter, error) {
	if len(numbers) > 0 {
		return pickDeadLetters(ctx, bus, numbers)
	}
	lines, err := replay.DeadLetters(ctx, bus)
	if err != nil {
		return nil, err
	}
	return only.of(lines)
}

// settleAll settles each dead letter, continues after a failure, and prints a result for each.
func settleAll(a *app.App, lines []replay.DeadLetter, how settle) error {
	results, failed, refused := make([]settled, 0, len(lines)), 0, error(nil)
	for _, line := range lines {
		result := settled{Number: line.Number, Pipeline: line.Pipeline, Run: line.Run, From: line.From(), Done: how.done}
		if err := how.do(line); err != nil {
			result.Done, result.Error = "", err.Error()
			failed++
			if errors.Is(err, events.ErrRefused) {
				refused = err
			}
		}
		results = append(results, result)
	}
	err := a.Print(results, func(w io.Writer) { settledTable(w, results) })
	switch {
	case refused != nil:
		err = errors.Join(err, fmt.Errorf("%d of %d dead letters were not %s: %w", failed, len(lines), how.done, refused))
	case failed > 0:
		err = errors.Join(err, fmt.Errorf("%d of %d dead letters were not %s", failed, len(lines), how.done))
	}
	return err
}

func settledTable(w io.Writer, results []settled) {
	if len(results) == 0 {
		fmt.Fprintln(w, "no dead letters")
	}
	for _, r := range results {
		what := r.From
		if r.Run != "" {
			what += fmt.Sprintf(", run %s of pipeline %s", r.Run, r.Pipeline)
		}
		if r.Error != "" {
			fmt.Fprintln(w, terminal.Lines(r.Error))
			continue
		}
		fmt.Fprintf(w, "%s dead letter %d: %s\n", r.Done, r.Number, terminal.Line(what))
	}
}
