package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func (d shownRun) table(w io.Writer) {
	terminal.Row(w, "run", d.Run)
	terminal.Row(w, "pipeline", d.Pipeline)
	terminal.Row(w, "state", d.Headline())
	if what := d.What(); what != "" {
		terminal.Row(w, "", what)
	}
	if d.State == runs.Trained && d.Trained != nil {
		describeModel(w, d.Trained)
	}
	if d.Study != "" {
		terminal.Row(w, "study", shortID(d.Study)+map[bool]string{true: ", reused"}[d.Reused])
	}
	terminal.Row(w, "since", terminal.Time(d.Since))
	if !d.Expires.IsZero() {
		terminal.Row(w, "expires", "within a minute of "+terminal.Time(d.Expires))
	}
	for _, f := range d.Facts {
		terminal.Row(w, fmt.Sprintf("fact %d", f.Sequence), fmt.Sprintf("%s  %s  %s from %s", terminal.Time(f.Stored), f.Kind, f.ID, f.Source))
		if f.Ignored != "" {
			terminal.Row(w, "", "ignored: "+runs.FirstLine(f.Ignored))
		}
	}
	if d.Job != "" {
		terminal.Row(w, "job", d.Job)
	}
	if d.Lease != nil {
		terminal.Row(w, "attempt", attemptLine(*d.Lease))
	}
	if !d.Heartbeat.IsZero() {
		age := max(0, d.asked.Sub(d.Heartbeat)).Truncate(time.Second)
		terminal.Row(w, "heartbeat", fmt.Sprintf("%s, %s ago", terminal.Time(d.Heartbeat), age))
	}
	if d.Progress != nil {
		terminal.Row(w, "progress", progressLine(*d.Progress))
	}
	if d.State == runs.Failed && d.Failed.Log != "" {
		terminal.Row(w, "log", d.Failed.Log)
	}
	if d.DeadLetter != 0 {
		terminal.Row(w, "dead letter", d.DeadLetter)
	}
	for i, next := range d.Next {
		terminal.Row(w, map[bool]string{true: "go on"}[i == 0], next)
	}
	if d.Job != "" && (d.State == runs.Failed || d.State == runs.Cancelled) {
		terminal.Row(w, "", pinnedNote(d.Revision))
	}
	if len(d.Settings) > 0 {
		fmt.Fprintf(w, "\ntrained with, as the module says\n%s", indented(yamlOf(d.Settings)))
	}
	if len(d.Configuration) > 0 {
		fmt.Fprintf(w, "\nconfiguration: pipeline %s, revision %d, with its defaults\n%s", d.Pipeline, d.Revision, indented(yamlOf(d.Configuration)))
	}
	if more := runs.Details(d.Failed.Message, d.Failed.LogTail); d.State == runs.Failed && more != "" {
		fmt.Fprintln(w, more)
	}
}

// indented is a text with two blanks before each line.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// attemptLine says who works on a job, and how earlier attempts ended.
func attemptLine(lease events.Lease) string {
	line := fmt.Sprintf("number %d", lease.Number)
	if lease.Holder != "" {
		line += ", " + lease.Holder + " holds the lease"
	}
	for _, kind := range slices.Sorted(maps.Keys(lease.Failures)) {
		line += fmt.Sprintf(", %d ended: %s", lease.Failures[kind], endedWords(kind))
	}
	if lease.Ended != nil {
		line += fmt.Sprintf("; number %d: %s", lease.Ended.Attempt, runs.FirstLine(lease.Ended.Why))
	}
	return line
}

// endedWords says how an attempt ended.
func endedWords(kind events.FailureKind) string {
	if kind == events.FailureUnavailable {
		return "handed back or lost"
	}
	return string(kind)
}

func progressLine(p events.Progress) string {
	what := p.Phase + " " + runs.Step(p)
	if p.Phase == "resuming" {
		what = fmt.Sprintf("goes on from step %d ", p.Step)
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %s%s", terminal.Time(p.Time), what, runs.Metrics(p.Metrics)))
}

// nextSteps are commands that help a run on from its state.
func (a *app) nextSteps(d find.Detail) []string {
	run := quoted(d.Run) + " --pipeline " + d.Pipeline
	var next []string
	if d.Study != "" && (d.State == runs.Tuning || d.State == runs.Failed) {
		follow := map[bool]string{true: " -f  # follows its search", false: "  # its search, trial by trial"}[d.State == runs.Tuning]
		next = append(next, a.command("studies show "+quoted(d.Pipeline+"/"+d.Run))+follow)
	}
	switch d.State {
	case runs.Waiting, runs.Queued, runs.Tuning, runs.Running:
		next = append(next, a.command("cancel "+run)+"  # gives it up")
	case runs.Held:
		if d.Gate != nil && d.Gate.Paused {
			next = append(next, a.command("resume "+d.Pipeline)+"  # lets all runs of the pipeline go on")
		}
		next = append(next, a.command("cancel "+run)+"  # gives it up")
	case runs.Trained:
		next = append(next, a.command("models pull "+d.Pipeline+" --run "+quoted(d.Run))+"  # copies its model")
	case runs.Cancelled, runs.Failed, runs.Expired:
		next = append(next, a.command("runs rerun "+run)+"  # starts its inputs again, with the pipeline as it is now")
		if d.Job != "" && d.DeadLetter == 0 {
			next = append(next, a.command("replay --run "+run+" --force")+"  # trains anew")
		}
	}
	if d.State == runs.Failed && d.Failed.Log != "" {
		next = append(next, a.command("logs "+quoted(d.Pipeline+"@"+d.Run))+"  # all that its module printed")
	}
	if d.DeadLetter != 0 {
		next = append(next,
			a.command(fmt.Sprintf("dead show %d", d.DeadLetter))+"  # its job as it came, and the facts behind it",
			a.command(fmt.Sprintf("dead retry %d", d.DeadLetter))+"  # once the cause is mended")
	}
	return next
}
