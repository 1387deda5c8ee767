package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
)

// published is what publish reports.
type published struct {
	ID        string `json:"id"`
	Pipeline  string `json:"pipeline"`
	Run       string `json:"run"`
	Sequence  uint64 `json:"sequence"`
	Duplicate bool   `json:"duplicate"`
}

func newPublish(app *app) *cobra.Command {
	var kind, pipeline, run string
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "publish FILE",
		Short: "Publish a fact; - reads standard input",
		Long: "Publishes a CloudEvent given as JSON (structured mode). With --kind, --pipeline and --run the file holds the event's\n" +
			"data alone, and the rest is filled in.",
		Example: `  stoker publish event.json --wait
  echo '{"transform_graph": "s3://stoker/t/4"}' | stoker publish - --kind transform.ready --pipeline penguin --run monday`,
		Args: exactly(1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readInput(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			fact, err := readFact(text, kind, pipeline, run)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				if !wait {
					return app.publish(ctx, l, fact)
				}
				if timeout > 0 {
					return app.publishAndFollowFor(ctx, l, fact, timeout)
				}
				return app.publishAndFollow(ctx, l, fact)
			})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "kind of the fact, for a file that holds data alone: examples.ready, transform.ready, hparams.ready")
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "pipeline of the fact")
	cmd.Flags().StringVar(&run, "run", "", "run key of the fact")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the run until its model is trained or it failed")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long --wait waits; default: for ever")
	cmd.MarkFlagsRequiredTogether("kind", "pipeline", "run")
	return cmd
}

func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// readFact parses a whole event, or data that flags tell the rest of. Equal data of one run are one fact, told again.
func readFact(text []byte, kind, pipeline, run string) (events.Fact, error) {
	if kind == "" {
		return events.Decode(nil, text)
	}
	if !json.Valid(text) {
		return events.Fact{}, errors.New("expected the event's data as JSON")
	}
	event, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": events.DerivedID(kind, pipeline, run, string(text)), "source": "/stoker/cli",
		"type": events.Kind(kind).Type(), "subject": pipeline, "run": run,
		"datacontenttype": "application/json", "data": json.RawMessage(text),
	})
	if err != nil {
		return events.Fact{}, err
	}
	return events.Decode(nil, event)
}

func (a *app) publish(ctx context.Context, l link, fact events.Fact) error {
	receipt, err := l.box.Publish(ctx, fact)
	if err != nil {
		return err
	}
	return a.print(published{fact.ID, fact.Pipeline, fact.Run, receipt.Sequence, receipt.Duplicate}, func(w io.Writer) {
		if receipt.Duplicate {
			fmt.Fprintf(w, "%s of run %s was published before, as fact %d\n", fact.Data.Kind(), fact.Run, receipt.Sequence)
			return
		}
		fmt.Fprintf(w, "%s of run %s is fact %d\n", fact.Data.Kind(), fact.Run, receipt.Sequence)
	})
}
