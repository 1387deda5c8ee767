package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
)

// complete tells shells what values flags and arguments may have.
func (a *app) complete(root *cobra.Command) {
	values := map[string]cobra.CompletionFunc{
		"output":   cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp),
		"kind":     cobra.FixedCompletions(publishedKinds(), cobra.ShellCompDirectiveNoFileComp),
		"pipeline": a.pipelineNames,

		"python-warm": cobra.FixedCompletions(guest.Warmth(), cobra.ShellCompDirectiveNoFileComp),
	}
	for _, cmd := range allCommands(root) {
		for flag, values := range values {
			if cmd.Flags().Lookup(flag) != nil || cmd.PersistentFlags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, values) // fails only for a flag that isn't there
			}
		}
	}
}

// pipelineNames asks the bus. Where there is none, the shell completes nothing.
func (a *app) pipelineNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	var names []string
	err := a.withBus(ctx, func(ctx context.Context, box events.Letterbox) error {
		pipelines, err := box.Register(ctx, events.RegisterPipelines)
		if err != nil {
			return err
		}
		for entry, err := range pipelines.All(ctx) {
			if err != nil {
				return err
			}
			names = append(names, entry.Key)
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
