package main

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
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newDead(app *app) *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error {
		return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
			letters, err := replay.Letters(ctx, box)
			if err != nil {
				return err
			}
			return app.print(letters, func(w io.Writer) { deadTable(w, letters) })
		})
	}
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List messages that can never be handled, and why; retry or drop them",
		Args:  noArguments,
		RunE:  list,
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List dead letters, oldest first", Args: noArguments, RunE: list},
		newDeadShow(app), newDeadRetry(app), newDeadDrop(app),
	)
	return cmd
}

func newDeadShow(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show one dead letter: the message as it came, the reason, the facts behind it",
		Long: "Shows one dead letter: the message as it came, the reason, and the facts behind it. Characters that would act on the terminal\n" +
			"are printed as escapes such as \\x1b, and long lines are cut with a note of their length; -o json has the message whole.",
		Args: exactly(1, "a number from `stoker dead`"),
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

func deadTable(w io.Writer, letters []replay.Letter) {
	terminal.Row(w, "NUMBER", "BURIED", "PIPELINE", "RUN", "FROM", "KIND", "REASON")
	for _, line := range letters {
		terminal.Row(w, line.Number, line.Buried.Local().Format(time.DateTime), line.Pipeline, line.Run, line.From(),
			line.Letter.Reason.Kind, runs.FirstLine(line.Letter.Reason.Message))
	}
}

// shownBody is a message's body for people, without its secrets: a job holds its whole pipeline.
func shownBody(body []byte) string {
	if json.Valid(body) {
		body = mask.JSON(body)
	}
	return mask.Text(string(body))
}

func deadLetter(w io.Writer, line replay.Letter) {
	terminal.Row(w, "reason", runs.FirstLine(line.Letter.Reason.Message))
	terminal.Row(w, "field", line.Letter.Reason.Field)
	terminal.Row(w, "pipeline", line.Pipeline)
	terminal.Row(w, "run", line.Run)
	terminal.Row(w, "from", line.From())
	terminal.Row(w, "subject", line.Letter.Message.Subject)
	for _, name := range slices.Sorted(maps.Keys(line.Letter.Message.Header)) {
		terminal.Row(w, name, strings.Join(line.Letter.Message.Header[name], ", "))
	}
	if _, rest, more := strings.Cut(line.Letter.Reason.Message, "\n"); more {
		fmt.Fprintf(w, "\n%s\n", rest)
	}
	fmt.Fprintf(w, "\n%s\n", shownBody(line.Letter.Message.Body))
	for _, cause := range line.Letter.Causes {
		fmt.Fprintf(w, "\ncaused by fact %d, %s\n%s\n", cause.Sequence, terminal.Line(cause.Subject), shownBody(cause.Body))
	}
	fmt.Fprintf(w, "\ntry it again: `stoker dead retry %d`; give it up: `stoker dead drop %[1]d`\n", line.Number)
	if job, ok := replay.JobOf(line.Letter); ok {
		fmt.Fprintln(w, pinnedNote(job.Revision))
	}
}

// pickLetters are the letters with these numbers.
func pickLetters(ctx context.Context, box events.Letterbox, numbers []uint64) ([]replay.Letter, error) {
	letters, err := replay.Pick(ctx, box, numbers)
	if errors.Is(err, events.ErrNotFound) {
		return nil, fmt.Errorf("%w: `stoker dead` lists those that there are", err)
	}
	return letters, err
}
