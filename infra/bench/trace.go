package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
)

const (
	// traceJobs is how many jobs each half of a round has: their spans are fewer than what the SDK
	// keeps before it begins to drop.
	traceJobs = 200

	traceGoal       = "< 150"
	allocationsGoal = "< 300" // those that encode and send spans among them; functions/telemetry has a test of those that don't
)

// endpointEnv is OpenTelemetry's name for where a collector is.
const endpointEnv = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"

// trace measures what tracing adds to a job: the same jobs, with a bus in memory and no work in
// them, without tracing and with all the spans that a training has, one half of each round after
// the other. Spans go by OTLP over HTTP to a receiver in this process that reads and drops them, at
// the same time: the time is that of the worker's own steps, the CPU time is that of all, sending
// and receiving included.
func (b bench) trace(ctx context.Context) (figures []figure, err error) {
	err = withReceiver(func() error {
		var took, cpu, allocations samples
		if _, _, err := traceRound(ctx); err != nil { // what is made once
			return err
		}
		for round := range b.times(30) {
			plain, traced, err := traceRound(ctx)
			if err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			took = append(took, (traced.seconds-plain.seconds)*1e6)
			cpu = append(cpu, (traced.cpu-plain.cpu)*1e6)
			allocations = append(allocations, traced.allocations-plain.allocations)
		}
		figures = []figure{
			alone("tracing-adds-to-a-job-p50", microseconds, took.quantile(0.5), took, traceGoal),
			alone("tracing-allocates-a-job-p50", objects, allocations.quantile(0.5), allocations, allocationsGoal),
			alone("tracing-cpu-a-job-sent-and-received-p50", microseconds, cpu.quantile(0.5), cpu, ""),
		}
		return nil
	})
	return figures, err
}

// withReceiver has OpenTelemetry send to a receiver of this process for as long as do runs.
func withReceiver(do func() error) (err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })}
	go func() { served <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		<-served
	}()
	if err := os.Setenv(endpointEnv, "http://"+listener.Addr().String()+"/v1/traces"); err != nil {
		return err
	}
	defer os.Unsetenv(endpointEnv)
	return do()
}

// traceCost is what one job took, on average over a half of a round.
type traceCost struct{ seconds, cpu, allocations float64 }

func traceRound(ctx context.Context) (plain, traced traceCost, err error) {
	if plain, err = traceHalf(ctx, nil); err != nil {
		return plain, traced, err
	}
	tele, err := telemetry.Open(ctx, telemetry.Options{Service: "stoker-bench"})
	if err != nil {
		return plain, traced, err
	}
	traced, err = traceHalf(ctx, tele)
	return plain, traced, errors.Join(err, tele.Close(ctx))
}

// traceHalf works on so many jobs, and measures from the first offer until the last one's spans are
// sent.
func traceHalf(ctx context.Context, tele *telemetry.Telemetry) (cost traceCost, err error) {
	runtime.GC()
	bus := tele.Bus(bustest.NewMemory(0))
	w := worker.New(bus, worker.Options{Functions: []worker.Function{staged{}}, Telemetry: tele})
	before, err := spent()
	if err != nil {
		return cost, err
	}
	for i := range traceJobs {
		if err := bus.Enqueue(ctx, benchJob(i)); err != nil {
			return cost, err
		}
		if worked, err := w.Once(ctx, 0); err != nil || !worked {
			return cost, fmt.Errorf("job %d: worked %v: %w", i, worked, err)
		}
	}
	walked, err := spent()
	if err != nil {
		return cost, err
	}
	if err := tele.Flush(ctx); err != nil {
		return cost, err
	}
	sent, err := spent()
	return traceCost{
		seconds: walked.at.Sub(before.at).Seconds() / traceJobs, allocations: (walked.allocations - before.allocations) / traceJobs,
		cpu: (sent.cpu - before.cpu) / traceJobs,
	}, err
}

// spending is what this process has spent by now.
type spending struct {
	at               time.Time
	cpu, allocations float64
}

func spent() (s spending, err error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s.allocations = float64(memory.Mallocs)
	if s.cpu, err = ownCPU(); err != nil {
		return s, err
	}
	s.at = time.Now()
	return s, nil
}

// staged has the parts of a training, each with its span, and no work in them.
type staged struct{ *noopFunction }

func (staged) Handle(ctx context.Context, task worker.Task) (_ []events.Event, err error) {
	execution := "sha256:" + events.DerivedID(task.Job.ID) + events.DerivedID(task.Job.ID)
	for _, name := range []string{"identify", "stage", "module", "check", "publish", "commit"} {
		_, span := telemetry.Start(ctx, name)
		span.Text("stoker.execution", execution)
		span.End(&err)
	}
	return unmade(task.Job, execution), nil
}
