package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
)

// deadLine is one line of `stoker dead`.
type deadLine struct {
	Number uint64            `json:"number"`
	Buried time.Time         `json:"buried"`
	Letter events.DeadLetter `json:"letter"`
}

func newDead(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List messages that can never be handled, and why",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.withDead(cmd.Context(), func(letters []deadLine) error {
				return app.print(letters, func(w io.Writer) { deadTable(w, letters) })
			})
		},
	}
	cmd.AddCommand(newDeadShow(app))
	return cmd
}

func newDeadShow(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show one dead letter: the message as it came, the reason, the facts behind it",
		Args:  exactly(1, "a number from `stoker dead`"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return usage(fmt.Errorf("%s: expected a number from `stoker dead`", args[0]))
			}
			return app.withDead(cmd.Context(), func(letters []deadLine) error {
				for _, line := range letters {
					if line.Number == number {
						return app.print(line, func(w io.Writer) { deadLetter(w, line) })
					}
				}
				return notFound(fmt.Errorf("no dead letter %d: `stoker dead` lists them", number))
			})
		},
	}
}

func (a *app) withDead(ctx context.Context, do func([]deadLine) error) error {
	return a.withBus(ctx, func(ctx context.Context, box events.Letterbox) error {
		letters := []deadLine{}
		for letter, err := range box.Dead(ctx) {
			if err != nil {
				return err
			}
			letters = append(letters, deadLine{letter.Sequence, letter.Buried, letter})
		}
		return do(letters)
	})
}

func deadTable(w io.Writer, letters []deadLine) {
	row(w, "NUMBER", "BURIED", "FROM", "KIND", "REASON")
	for _, line := range letters {
		from := fmt.Sprintf("%s %d", line.Letter.Message.Stream, line.Letter.Message.Sequence)
		row(w, line.Number, line.Buried.Local().Format(time.DateTime), from, line.Letter.Reason.Kind, firstLine(line.Letter.Reason.Message))
	}
}

func deadLetter(w io.Writer, line deadLine) {
	row(w, "reason", line.Letter.Reason.Message)
	row(w, "field", line.Letter.Reason.Field)
	row(w, "subject", line.Letter.Message.Subject)
	for name, values := range line.Letter.Message.Header {
		row(w, name, values)
	}
	fmt.Fprintf(w, "\n%s\n", line.Letter.Message.Body)
	for _, cause := range line.Letter.Causes {
		fmt.Fprintf(w, "\ncaused by fact %d, %s\n%s\n", cause.Sequence, cause.Subject, cause.Body)
	}
}
