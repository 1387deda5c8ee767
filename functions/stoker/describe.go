package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/inspect"
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// describe says what an outcome tells, for people.
func describe(w io.Writer, fact events.Fact) {
	switch data := fact.Data.(type) {
	case *events.ModelTrained:
		terminal.Row(w, "run", fact.Run)
		terminal.Row(w, "model", data.Model.URI)
		terminal.Row(w, "execution", data.Execution)
		describeModel(w, data)
	case *events.TrainingFailed:
		terminal.Row(w, "run", fact.Run)
		terminal.Row(w, "failed", runs.FailureLine(data))
		if more := runs.Details(data.Message, data.LogTail); more != "" {
			fmt.Fprintln(w, more)
		}
	}
}

// describeModel says how good a model is, what it started from, how its files compare with it, and whether it was there before.
func describeModel(w io.Writer, data *events.ModelTrained) {
	terminal.Row(w, "metrics", runs.Metrics(data.Metrics))
	if values := hyperparametersLine(data.Hyperparameters); values != "" {
		terminal.Row(w, "hyperparameters", values)
	}
	if data.BaseModel != "" {
		terminal.Row(w, "base model", data.BaseModel)
	}
	if s := data.Skew; s != nil {
		figures := inspect.Skew(*s)
		terminal.Row(w, "skew", runs.FirstLine(figures.String()))
	}
	for _, note := range data.Notes {
		terminal.Row(w, "note", note)
	}
	if data.Cached {
		terminal.Row(w, "cached", "the same inputs, module and settings were trained before; nothing was done again")
	}
}

// shownValue is a hyperparameter's value on one line, or mask.Hidden.
func shownValue(name string, value any) string {
	if mask.Name(name) {
		return mask.Hidden
	}
	return mask.Text(runs.FirstLine(fmt.Sprint(value)))
}

// hyperparametersLine lists values by name, without what a tuner says of its trial; "" of none.
func hyperparametersLine(values map[string]any) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if strings.HasPrefix(name, space.Own) {
			continue
		}
		all = append(all, fmt.Sprintf("%s %s", name, shownValue(name, values[name])))
	}
	return strings.Join(all, "  ")
}
