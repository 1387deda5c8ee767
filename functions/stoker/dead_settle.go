package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// settled is what became of one dead letter.
type settled struct {
	Number   uint64 `json:"number"`
	Pipeline string `json:"pipeline,omitempty"`
	Run      string `json:"run,omitempty"`
	From     string `json:"from"`
	Done     string `json:"done,omitempty"` // retried or dropped
	Error    string `json:"error,omitempty"`
}

func newDeadDrop(app *app) *cobra.Command {
	return newDeadSettle(app, &cobra.Command{
		Use:   "drop NUMBER...",
		Short: "Remove dead letters for good",
		Long:  "Removes dead letters for good. A fact stays in the log, and what was told of a job stays told.",
	}, func(ctx context.Context, box events.Letterbox) (settle, error) {
		return settle{"dropped", func(line replay.Letter) error {
			if err := box.Drop(ctx, line.Number); !errors.Is(err, events.ErrNotFound) { // who dropped it too was sooner
				return err
			}
			return nil
		}}, nil
	})
}

// settle is one way to be done with a dead letter.
type settle struct {
	done string
	do   func(replay.Letter) error
}

// newDeadSettle completes a command that settles the letters which its arguments or flags name.
func newDeadSettle(app *app, cmd *cobra.Command, open func(context.Context, events.Letterbox) (settle, error)) *cobra.Command {
	var all bool
	var pipelineName string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		numbers, err := parseNumbers(args)
		if err != nil {
			return err
		}
		if all == (len(args) > 0) || pipelineName != "" && !all {
			return exit.Usage(errors.New("expected numbers from `stoker dead`, or --all, perhaps with --pipeline"))
		}
		return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
			how, err := open(ctx, box)
			if err != nil {
				return err
			}
			lines, err := chosen(ctx, box, numbers, all, pipelineName)
			if err != nil {
				return err
			}
			return app.settle(lines, how)
		})
	}
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters")
	cmd.Flags().StringVar(&pipelineName, "pipeline", "", "with --all: only those of this pipeline")
	return cmd
}

func chosen(ctx context.Context, box events.Letterbox, numbers []uint64, all bool, pipelineName string) ([]replay.Letter, error) {
	if !all {
		return pickLetters(ctx, box, numbers)
	}
	lines, err := replay.Letters(ctx, box)
	if pipelineName == "" {
		return lines, err
	}
	return slices.DeleteFunc(lines, func(line replay.Letter) bool { return line.Pipeline != pipelineName }), err
}

// settle goes on with the next letter when one fails, and says of each what became of it.
func (a *app) settle(lines []replay.Letter, how settle) error {
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
	err := a.print(results, func(w io.Writer) { settledTable(w, results) })
	switch {
	case refused != nil:
		err = errors.Join(err, fmt.Errorf("%d of %d dead letters are still there: %w", failed, len(lines), refused))
	case failed > 0:
		err = errors.Join(err, fmt.Errorf("%d of %d dead letters are still there", failed, len(lines)))
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
