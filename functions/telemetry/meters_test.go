package telemetry_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
)

// scrapeAll returns what /metrics serves after one operation of every kind.
func scrapeAll(t *testing.T) string {
	t.Helper()
	tele := counting(t)
	err := tele.Queues(func(context.Context) ([]telemetry.Queue, error) {
		return []telemetry.Queue{{Stream: "JOBS", Consumer: "train-cpu", Waiting: 3, Running: 1}}, nil
	})
	if err == nil {
		err = tele.Serving(func(context.Context) ([]telemetry.Serving, error) {
			return []telemetry.Serving{{Function: "train", Class: "cpu", Consumer: "train-cpu", Workers: 2}, {Function: "train", Class: "tpu", Consumer: "train-tpu"}}, nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	bus := tele.Bus(bustest.NewMemory(0))
	work(t, bus, tele, job("good"), func(_ context.Context, task worker.Task) error {
		for _, step := range []int{10, 25} {
			task.Report(events.Progress{Phase: "training", Step: step})
		}
		return nil
	})
	work(t, bus, tele, job("bad"), func(context.Context, worker.Task) error {
		return events.Fail(events.FailureInput, errors.New("no such split"))
	})
	work(t, bus, tele, job("lost"), func(context.Context, worker.Task) error { return events.ErrLeaseLost })
	hparams := events.Event{ID: "1", Source: "/up", Pipeline: "penguin", Run: "r", Data: &events.HParamsReady{Hyperparameters: "s3://bucket/h"}}
	if _, err := bus.Publish(t.Context(), hparams); err != nil {
		t.Fatal(err)
	}
	tele.Trial(t.Context(), "penguin", "COMPLETED")
	tele.Checkpoint(t.Context(), "penguin", 1024)
	return scrape(t, tele)
}

func TestCountsAreServed(t *testing.T) {
	t.Parallel()
	text := scrapeAll(t)
	for _, want := range []string{
		`stoker_jobs_total{function="train",outcome="done",pipeline="penguin"} 1`,
		`stoker_jobs_total{function="train",kind="input",outcome="failed",pipeline="penguin"} 1`,
		`stoker_jobs_total{function="train",outcome="lost",pipeline="penguin"} 1`,
		`stoker_lease_losses_total{function="train",pipeline="penguin"} 1`,
		`stoker_job_attempts_total{again="false",function="train",pipeline="penguin"} 3`,
		`stoker_dead_letters_total{kind="input",stream="JOBS"} 1`,
		`stoker_models_total{cached="false",pipeline="penguin"} 1`,
		`stoker_training_steps_total{pipeline="penguin"} 15`,
		`stoker_trials_total{pipeline="penguin",status="COMPLETED"} 1`,
		`stoker_checkpoint_size_bytes_total{pipeline="penguin"} 1024`,
		`stoker_queue_lag{consumer="train-cpu",stream="JOBS"} 3`,
		`stoker_workers{class="cpu",consumer="train-cpu",function="train"} 2`,
		`stoker_workers{class="tpu",consumer="train-tpu",function="train"} 0`,
		`messaging_client_sent_messages_total{messaging_destination_template="jobs.{function}.{class}.{job}",messaging_operation_name="send",messaging_system="nats"} 3`,
		`messaging_process_duration_seconds_count{`,
		`messaging_client_operation_duration_seconds_count{`,
		`messaging_client_consumed_messages_total{`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %s", want)
		}
	}
	for _, run := range []string{"run-good", "run-bad", `"good"`} {
		if strings.Contains(text, run) {
			t.Errorf("a metric names a run or a job: %s", run)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "stoker_") || strings.HasPrefix(line, "messaging_client") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}
