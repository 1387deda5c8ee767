package main

import "time"

// What the peer took for the same job. It was recorded once and is not run again, for it needs
// half a gigabyte of Python.
const (
	tfxTrainer    = "TFX 1.16 Trainer, once imported; recorded, not run again"
	tfxTrainerCPU = 22.0 // CPU seconds
)

// moduleFigures show how long it takes until a module runs, and where that time goes.
func moduleFigures(all []journey) []figure {
	until := pick(all, func(j journey) time.Duration { return j.module })
	worker := pick(all, func(j journey) time.Duration { return j.phase[staging] })
	stage := pick(all, func(j journey) time.Duration { return j.phase[starting] - j.phase[staging] })
	start := pick(all, func(j journey) time.Duration { return j.module - j.phase[starting] })
	return []figure{
		alone("event-to-module-p50", milliseconds, until.quantile(0.5), until, "< 30"),
		alone("event-to-module-p99", milliseconds, until.quantile(0.99), until, ""),
		alone("of-it-event-to-worker-p50", milliseconds, worker.quantile(0.5), worker, ""),
		alone("of-it-staging-p50", milliseconds, stage.quantile(0.5), stage, ""),
		alone("of-it-module-start-p50", milliseconds, start.quantile(0.5), start, ""),
	}
}

// jobFigures are of the penguin job as a whole. job is its mean CPU time: that of the stack and of
// the module's processes, with all that the stack did for bus, store and dispatch meanwhile. The
// accuracy shows that models were trained.
func jobFigures(all []journey, job float64) []figure {
	first := pick(all, func(j journey) time.Duration { return j.module })
	trained := pick(all, func(j journey) time.Duration { return j.trained })
	var cpu, accuracy samples
	for _, j := range all {
		cpu, accuracy = append(cpu, j.cpu), append(accuracy, j.accuracy)
	}
	return []figure{
		alone("event-to-first-progress-p50", milliseconds, first.quantile(0.5), first, ""),
		alone("event-to-model-p50", milliseconds, trained.quantile(0.5), trained, "< 500"),
		alone("event-to-model-p99", milliseconds, trained.quantile(0.99), trained, ""),
		alone("job-cpu-mean", cpuSeconds, job, cpu, "").against(tfxTrainer, tfxTrainerCPU),
		alone("job-accuracy-mean", fraction, accuracy.mean(), accuracy, ""),
	}
}

func pick(all []journey, what func(journey) time.Duration) (s samples) {
	for _, j := range all {
		s.addTime(what(j))
	}
	return s
}
