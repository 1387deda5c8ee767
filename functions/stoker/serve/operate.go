package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs/workers"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// operated is a long-running command, with its probes and metrics.
type operated struct {
	*telemetry.Telemetry // nil: no telemetry
	app                  *app.App
	what                 string
	listen               string // address of its probes; "": none
	page                 bool   // its own page serves the probes too
}

// listenFlag adds the flag for the address of a long-running command's probes.
func listenFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("listen", "", "host:port for /healthz, /readyz and /metrics; default: none (STOKER_LISTEN)")
}

// operate runs do, with the telemetry that OpenTelemetry's variables and --listen configure.
func operate(ctx context.Context, a *app.App, what, listen string, do func(context.Context, *operated) error) error {
	return operated{app: a, what: what, listen: listen}.run(ctx, do)
}

// run is operate for a command that may have a page.
func (o operated) run(ctx context.Context, do func(context.Context, *operated) error) (err error) {
	if o.listen == "" {
		found, err := o.app.Settings()
		if err != nil {
			return err
		}
		o.listen = found.Value(settings.Listen).Text
	}
	if _, _, bad := net.SplitHostPort(o.listen); o.listen != "" && bad != nil {
		return exit.Usage(errors.Join(errors.New("--listen: expected host:port, or :port for all addresses of the machine"), bad))
	}
	log := o.app.Logger()
	t, err := telemetry.Open(ctx, telemetry.Options{Service: "stoker-" + o.what, Version: o.app.Version, Scraped: o.listen != "" || o.page, Logger: log})
	if err != nil {
		return exit.Usage(err)
	}
	defer func() {
		if err := t.Close(ctx); err != nil {
			log.Warn("telemetry not sent", "error", err)
		}
	}()
	o.Telemetry = t
	return do(ctx, &o)
}

// asks are the services that an operated command needs to work, and the queues whose lag it
// reports.
type asks struct {
	needs map[string]telemetry.Need
	lags  []func(context.Context) ([]jetstream.Lag, error)
	// The workers of each queue; nil: not reported.
	serving func(context.Context) ([]telemetry.Serving, error)
}

// while serves the probes while do runs.
func (o *operated) while(ctx context.Context, a asks, do func(context.Context) error) error {
	if err := a.refused(ctx); err != nil {
		return err
	}
	if err := o.Queues(a.queues); err != nil {
		return err
	}
	if a.serving != nil {
		if err := o.Serving(a.serving); err != nil {
			return err
		}
	}
	if o.listen == "" {
		return do(ctx)
	}
	return telemetry.Serve(ctx, o.listen, o.probes(ctx, a), func(ctx context.Context, at net.Addr) error {
		o.app.Logger().InfoContext(ctx, "probes and metrics are served", "address", at.String())
		return do(ctx)
	})
}

// probes returns the handler of the probes.
func (o *operated) probes(ctx context.Context, a asks) http.Handler {
	return o.Probes(ctx, a.needs).Handler()
}

// refused checks once whether the bus refuses any needed request. A command with the wrong
// credentials fails when it starts, instead of reporting that forever; a later refusal may be
// temporary.
func (a asks) refused(ctx context.Context) error {
	for _, need := range a.needs {
		if err := need(ctx); errors.Is(err, events.ErrRefused) {
			return err
		}
	}
	return nil
}

func (a asks) queues(ctx context.Context) (all []telemetry.Queue, err error) {
	for _, ask := range a.lags {
		lags, failed := ask(ctx)
		err = errors.Join(err, failed)
		for _, lag := range lags {
			all = append(all, telemetry.Queue(lag))
		}
	}
	return all, err
}

// asWorker returns what a worker needs: its queues, and the store.
func asWorker(bus *jetstream.Bus, store storage.Store, root storage.Ref, functions []events.Function, classes []string) asks {
	jobs := func(ctx context.Context) ([]jetstream.Lag, error) { return bus.JobLags(ctx, functions, classes) }
	return asks{
		needs: map[string]telemetry.Need{
			"bus":   func(ctx context.Context) error { return bus.MayTakeJobs(ctx, functions, classes) },
			"store": storeNeed(store, root),
		},
		lags: []func(context.Context) ([]jetstream.Lag, error){jobs},
	}
}

// asStack returns what everything in one process needs.
func asStack(stack *stack.Stack) asks {
	all := asWorker(stack.Bus, stack.Store, stack.Root, events.Functions(), []string{"cpu"})
	evs := asDispatcher(stack.Bus)
	all.needs["events"], all.lags, all.serving = evs.needs["bus"], evs.lags, evs.serving
	return all
}

// asDispatcher returns what a dispatcher needs. It also reports the queues of jobs, because workers
// that are scaled to zero can't.
func asDispatcher(bus *jetstream.Bus) asks {
	all := asReader(bus.EventLag, bus.MayFollowEvents, dispatch.Reader)
	all.lags = append(all.lags, bus.QueueLags)
	all.serving = serving(bus)
	return all
}

// serving returns a function that counts the workers of each queue, those included that none
// serves.
func serving(bus *jetstream.Bus) func(context.Context) ([]telemetry.Serving, error) {
	return func(ctx context.Context) ([]telemetry.Serving, error) {
		known, err := workers.Known(ctx, bus, time.Now())
		if err != nil {
			return nil, err
		}
		queues, err := bus.QueueLags(ctx)
		return servingOf(known, queues), err
	}
}

func servingOf(known []workers.Worker, queues []jetstream.Lag) (all []telemetry.Serving) {
	by := workers.ByQueue(known)
	for _, queue := range queues {
		function, class, _ := strings.Cut(queue.Consumer, "-")
		all = append(all, telemetry.Serving{
			Function: function, Class: class, Consumer: queue.Consumer, Workers: by[workers.Queue{Function: events.Function(function), Class: class}].Workers,
		})
	}
	return all
}

// asReader returns what a reader of a stream needs: that its consumer delivers to it.
func asReader(lag func(context.Context, string) (jetstream.Lag, error), may func(context.Context, string) error, reader string) asks {
	all := asOnlooker(lag, reader)
	all.needs["bus"] = func(ctx context.Context) error { return may(ctx, reader) }
	return all
}

// asOnlooker returns what a command needs that shows the state of a reader.
func asOnlooker(lag func(context.Context, string) (jetstream.Lag, error), reader string) asks {
	ask := func(ctx context.Context) ([]jetstream.Lag, error) {
		found, err := lag(ctx, reader)
		if err != nil {
			return nil, err
		}
		return []jetstream.Lag{found}, nil
	}
	return asks{needs: map[string]telemetry.Need{"bus": needs(ask)}, lags: []func(context.Context) ([]jetstream.Lag, error){ask}}
}

// asListener returns what a listener needs: its consumers of streams.
func asListener(bus *jetstream.Bus, places func() (name string, streams []string)) asks {
	name, streams := places()
	ask := func(ctx context.Context) (all []jetstream.Lag, err error) {
		for _, stream := range streams {
			lag, failed := bus.ListenLag(ctx, stream, name)
			if err = errors.Join(err, failed); failed == nil {
				all = append(all, lag)
			}
		}
		return all, err
	}
	return asks{needs: map[string]telemetry.Need{"bus": needs(ask)}, lags: []func(context.Context) ([]jetstream.Lag, error){ask}}
}

// needs turns a request for the lag of queues into a need.
func needs(lags func(context.Context) ([]jetstream.Lag, error)) telemetry.Need {
	return func(ctx context.Context) error {
		_, err := lags(ctx)
		return err
	}
}

// storeNeed requests an object that never exists, below the place of artifacts.
func storeNeed(store storage.Store, root storage.Ref) telemetry.Need {
	return func(ctx context.Context) error {
		_, err := store.Stat(ctx, root.Join(".ready"))
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		return err
	}
}
