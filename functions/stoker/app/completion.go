package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// AddPipelineFlag adds the flag --pipeline, which shells complete with the applied pipelines.
func (a *App) AddPipelineFlag(cmd *cobra.Command, value *string, usage string) {
	cmd.Flags().StringVar(value, "pipeline", "", usage)
	completeFlag(cmd, "pipeline", a.PipelineNames)
}

// AddPipelinesFlag is AddPipelineFlag for a flag that may be given several times.
func (a *App) AddPipelinesFlag(cmd *cobra.Command, values *[]string, usage string) {
	cmd.Flags().StringSliceVar(values, "pipeline", nil, usage)
	completeFlag(cmd, "pipeline", a.PipelineNames)
}

// AddRunFlag adds the flag --run, which shells complete with the runs of the pipeline that
// --pipeline names, or of all.
func (a *App) AddRunFlag(cmd *cobra.Command, value *string, usage string) {
	cmd.Flags().StringVar(value, "run", "", usage)
	completeFlag(cmd, "run", a.RunNames)
}

// PublishedKinds returns the kinds of events that upstream publishes.
func PublishedKinds() []string {
	var names []string
	for _, kind := range events.PublishedBy(events.ByUpstream) {
		names = append(names, string(kind))
	}
	return names
}

// CompleteFlag sets the words that shells complete a flag of a command with.
func CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlag(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // the command lacks the flag, or completes it already
	}
}

// completed returns the completions that find returns; none after an error. Requests to the bus
// have a time limit, since the user waits.
func (a *App) completed(cmd *cobra.Command, find func(context.Context, events.Bus) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	a.quiet = true
	if err := a.Configure(); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	err := a.WithBus(ctx, func(ctx context.Context, bus events.Bus) (err error) {
		names, err = find(ctx, bus)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return safeNames(names), cobra.ShellCompDirectiveNoFileComp
}

// safeNames leaves out names that a shell would change by escaping, and makes descriptions safe.
func safeNames(names []string) (safe []string) {
	for _, candidate := range names {
		name, description, described := strings.Cut(candidate, "\t")
		if name != terminal.Line(name) {
			continue
		}
		if described {
			name = cobra.CompletionWithDesc(name, terminal.Line(description))
		}
		safe = append(safe, name)
	}
	return safe
}

// PipelineNames completes the name of an applied pipeline.
func (a *App) PipelineNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completed(cmd, func(ctx context.Context, bus events.Bus) (names []string, err error) {
		return runs.Pipelines(ctx, bus)
	})
}

// RunNames completes a run of the pipeline that --pipeline names, or else of all: the newest first,
// at most 100. A word with a slash is completed to PIPELINE/RUN.
func (a *App) RunNames(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	pipelineName := ""
	if flag := cmd.Flags().Lookup("pipeline"); flag != nil {
		pipelineName = flag.Value.String()
	}
	return a.completed(cmd, func(ctx context.Context, bus events.Bus) (names []string, err error) {
		const screen = 100
		list, err := runs.List(ctx, bus, pipelineName)
		for _, run := range list {
			name := run.Run
			if strings.Contains(word, "/") {
				name = run.Pipeline + "/" + run.Run
			}
			if strings.HasPrefix(name, word) && len(names) < screen {
				names = append(names, cobra.CompletionWithDesc(name, run.Pipeline+", "+run.State))
			}
		}
		return names, err
	})
}

// PipelineOrRunNames completes a name of a model or a study: pipelines, or after a slash the runs
// of one.
func (a *App) PipelineOrRunNames(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case strings.Contains(word, "/"):
		return a.RunNames(cmd, args, word)
	}
	return a.PipelineNames(cmd, args, word)
}

// Names completes the one argument of a command with what find returns.
func (a *App) Names(find func(context.Context, events.Bus) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completed(cmd, find)
	}
}

// DeadNumbers completes the number of a dead letter; each has its reason as the description.
func (a *App) DeadNumbers(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completed(cmd, func(ctx context.Context, bus events.Bus) (numbers []string, err error) {
		deadLetters, err := replay.DeadLetters(ctx, bus)
		for _, l := range deadLetters {
			numbers = append(numbers, cobra.CompletionWithDesc(strconv.FormatUint(l.Number, 10), runs.FirstLine(l.DeadLetter.Reason.Message)))
		}
		return numbers, err
	})
}

// contextNames returns the contexts of the nats tool.
func (a *App) contextNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	found, err := a.Settings()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found.Contexts(), cobra.ShellCompDirectiveNoFileComp
}
