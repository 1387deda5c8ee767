package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/worker"
)

// allFunctions are the kinds of jobs that there are.
func allFunctions() (all []string) {
	for _, function := range events.Functions() {
		all = append(all, string(function))
	}
	return all
}

func (f *workerFlags) checkFunctions() error {
	all := allFunctions()
	if len(f.functions) == 0 {
		return exit.Usage(fmt.Errorf("--functions: expected some of %s", strings.Join(all, ", ")))
	}
	for _, name := range f.functions {
		if !slices.Contains(all, name) {
			return exit.Usage(fmt.Errorf("--functions %s: expected some of %s", name, strings.Join(all, ", ")))
		}
	}
	return nil
}

// chosen are those of all functions that the worker is to take jobs of.
func (f *workerFlags) chosen(all ...worker.Function) (chosen []worker.Function) {
	for _, function := range all {
		if slices.Contains(f.functions, string(function.Name())) {
			chosen = append(chosen, function)
		}
	}
	return chosen
}

// takes says what the worker takes, and how much at once.
func (f *workerFlags) takes() []string {
	takes := []string{"classes " + strings.Join(f.classes, ", "), fmt.Sprintf("slots %d", f.slots)}
	if f.several() {
		takes = append(takes, fmt.Sprintf("leads %d hosts", len(f.hosts)))
	}
	if len(f.functions) < len(allFunctions()) {
		return append([]string{"functions " + strings.Join(f.functions, ", ")}, takes...)
	}
	return takes
}

// names are those of functions.
func names(functions []worker.Function) (all []events.Function) {
	for _, f := range functions {
		all = append(all, f.Name())
	}
	return all
}
