package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// deadLine is one line of `stoker dead`.
type deadLine struct {
	Number   uint64            `json:"number"`
	Buried   time.Time         `json:"buried"`
	Pipeline string            `json:"pipeline,omitempty"`
	Run      string            `json:"run,omitempty"`
	Letter   events.DeadLetter `json:"letter"`
}

func newDead(app *app) *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error {
		return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
			letters, err := deadLetters(ctx, box)
			if err != nil {
				return err
			}
			return app.print(letters, func(w io.Writer) { deadTable(w, letters) })
		})
	}
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List messages that can never be handled, and why; retry or drop them",
		Args:  cobra.NoArgs,
		RunE:  list,
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List dead letters, oldest first", Args: cobra.NoArgs, RunE: list},
		newDeadShow(app), newDeadRetry(app), newDeadDrop(app),
	)
	return cmd
}

func newDeadShow(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show one dead letter: the message as it came, the reason, the facts behind it",
		Args:  exactly(1, "a number from `stoker dead`"),
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := parseNumbers(args)
			if err != nil {
				return err
			}
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				lines, err := pickLetters(ctx, box, numbers)
				if err != nil {
					return err
				}
				return app.print(lines[0], func(w io.Writer) { deadLetter(w, lines[0]) })
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

func deadLetters(ctx context.Context, box events.Letterbox) ([]deadLine, error) {
	letters := []deadLine{}
	for letter, err := range box.Dead(ctx) {
		if err != nil {
			return nil, err
		}
		pipeline, run := replay.RunOf(letter)
		letters = append(letters, deadLine{letter.Sequence, letter.Buried, pipeline, run, letter})
	}
	return letters, nil
}

// pickLetters returns the letters with these numbers, each once and in their order, or an error if one of them is not there.
func pickLetters(ctx context.Context, box events.Letterbox, numbers []uint64) ([]deadLine, error) {
	all, err := deadLetters(ctx, box)
	if err != nil {
		return nil, err
	}
	var picked []deadLine
	for _, number := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		at := slices.IndexFunc(all, func(line deadLine) bool { return line.Number == number })
		if at < 0 {
			return nil, exit.NotFound(fmt.Errorf("no dead letter %d: `stoker dead` lists them", number))
		}
		picked = append(picked, all[at])
	}
	return picked, nil
}

func deadTable(w io.Writer, letters []deadLine) {
	terminal.Row(w, "NUMBER", "BURIED", "PIPELINE", "RUN", "FROM", "KIND", "REASON")
	for _, line := range letters {
		terminal.Row(w, line.Number, line.Buried.Local().Format(time.DateTime), line.Pipeline, line.Run, line.from(),
			line.Letter.Reason.Kind, runs.FirstLine(line.Letter.Reason.Message))
	}
}

// from says which message the letter keeps.
func (l deadLine) from() string {
	return fmt.Sprintf("%s %d", l.Letter.Message.Stream, l.Letter.Message.Sequence)
}

func deadLetter(w io.Writer, line deadLine) {
	terminal.Row(w, "reason", runs.FirstLine(line.Letter.Reason.Message))
	terminal.Row(w, "field", line.Letter.Reason.Field)
	terminal.Row(w, "pipeline", line.Pipeline)
	terminal.Row(w, "run", line.Run)
	terminal.Row(w, "from", line.from())
	terminal.Row(w, "subject", line.Letter.Message.Subject)
	for _, name := range slices.Sorted(maps.Keys(line.Letter.Message.Header)) {
		terminal.Row(w, name, strings.Join(line.Letter.Message.Header[name], ", "))
	}
	if _, rest, more := strings.Cut(line.Letter.Reason.Message, "\n"); more {
		fmt.Fprintf(w, "\n%s\n", rest)
	}
	fmt.Fprintf(w, "\n%s\n", line.Letter.Message.Body)
	for _, cause := range line.Letter.Causes {
		fmt.Fprintf(w, "\ncaused by fact %d, %s\n%s\n", cause.Sequence, cause.Subject, cause.Body)
	}
	fmt.Fprintf(w, "\ntry it again: `stoker dead retry %d`; give it up: `stoker dead drop %[1]d`\n", line.Number)
	if job, ok := jobOf(line.Letter); ok {
		fmt.Fprintln(w, pinnedNote(job.Revision))
	}
}
