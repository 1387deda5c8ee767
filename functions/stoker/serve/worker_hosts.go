package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// rankEnv is Kubernetes' variable with the index of this pod in an Indexed Job.
const rankEnv = "JOB_COMPLETION_INDEX"

// hostsHelp is the section on groups of `stoker worker --help`.
const hostsHelp = "With --hosts a:7070,b:7070 it is one of several hosts that train one model together, a group. Each runs the same command with\n" +
	"the same hosts, and --rank is the index of its own. The first host, the leader, claims train jobs with as many\n" +
	"resources.workers as there are hosts, once all of them have joined; the others stage the same inputs from the store, run the\n" +
	"module and commit nothing. TensorFlow listens at these ports. The hosts exchange all other messages over the bus, on subjects\n" +
	"of the first of --classes. A host that dies or is cut off for 30s ends the attempt on all of them. With --once all of them\n" +
	"exit after one job; without it the others wait when the leader is stopped, until it is back."

// hostsFlags make a worker a member of a group.
type hostsFlags struct {
	hosts  []string
	rank   int
	gather time.Duration
}

func (f *hostsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.hosts, "hosts", nil, "host:port of each host that trains one model with this one, the leader first")
	cmd.Flags().IntVar(&f.rank, "rank", -1, "index of this host in --hosts, from 0; default: "+rankEnv)
	cmd.Flags().DurationVar(&f.gather, "gather", 15*time.Minute, "how long the leader of --hosts waits for the others")
}

func (f *hostsFlags) several() bool { return len(f.hosts) > 0 }

// checkHosts returns an error for flags that a group does not support.
func (f *workerFlags) checkHosts() error {
	if !f.several() {
		if f.rank >= 0 {
			return exit.Usage(errors.New("--rank: it needs --hosts, of which it is an index"))
		}
		return nil
	}
	if err := f.findRank(); err != nil {
		return exit.Usage(err)
	}
	train := string(events.FunctionTrain)
	switch {
	case slices.Equal(f.functions, allFunctions()):
		f.functions = []string{train}
	case !slices.Equal(f.functions, []string{train}):
		return exit.Usage(fmt.Errorf("--functions %s: workers with --hosts claim only train jobs: expected %s", strings.Join(f.functions, ","), train))
	}
	switch {
	case f.slots != 1:
		return exit.Usage(fmt.Errorf("--slots %d: workers with --hosts run one job at a time: expected 1", f.slots))
	case f.gather <= 0:
		return exit.Usage(fmt.Errorf("--gather %s: expected more than 0s", f.gather))
	case os.Getenv("STOKER_MODULE_NETWORK") == "none":
		return exit.Usage(errors.New("STOKER_MODULE_NETWORK=none: modules on several hosts need the network to exchange data"))
	}
	if err := f.options(nil).Check(); err != nil {
		return exit.Usage(fmt.Errorf("--hosts and --rank: %w", err))
	}
	return nil
}

// findRank uses the rank of Kubernetes if no flag gives it.
func (f *hostsFlags) findRank() (err error) {
	if f.rank >= 0 {
		return nil
	}
	text := os.Getenv(rankEnv)
	if text == "" {
		return fmt.Errorf("--rank: missing: the index of this host in --hosts, from 0; Indexed Jobs of Kubernetes set it in %s", rankEnv)
	}
	if f.rank, err = strconv.Atoi(text); err != nil {
		return fmt.Errorf("%s: expected a number, got %q", rankEnv, text)
	}
	return nil
}

// options are those of a host of a group, without the bus.
func (f *workerFlags) options(a *app.App) multihost.Options {
	o := multihost.Options{Hosts: f.hosts, Rank: f.rank}
	if len(f.classes) > 0 {
		o.Class = f.classes[0]
	}
	if a != nil {
		o.Logger = a.Logger()
	}
	return o
}

// lead begins to lead a group on the first of its hosts. It returns nil for a worker that is alone.
func (f *workerFlags) lead(ctx context.Context, a *app.App, bus multihost.Bus) (*multihost.Leader, error) {
	if !f.several() {
		return nil, nil
	}
	o := f.options(a)
	o.Bus = bus
	return multihost.Listen(ctx, o)
}

// whole returns a function that waits for the members of a leader; nil if there is no leader.
func (f *hostsFlags) whole(leader *multihost.Leader) func(context.Context) error {
	if leader == nil {
		return nil
	}
	return func(ctx context.Context) error {
		ctx, stop := context.WithTimeoutCause(ctx, f.gather, fmt.Errorf("not all hosts joined within --gather %s", f.gather))
		defer stop()
		return leader.Whole(ctx)
	}
}

// asMember runs a host that is a member of a group.
func asMember(ctx context.Context, a *app.App, f workerFlags, o *operated) error {
	return a.WithLink(ctx, func(ctx context.Context, l app.Link) error {
		store, err := withinInputs(a, l.Store, l.Root)
		if err != nil {
			return err
		}
		return withExecutor(a, f, o, store, l.Root, nil, func(executor *execution.Executor, host *runner.Runner) error {
			fmt.Fprintf(a.Notes(), "stoker worker: host %d of %s, led by %s\n", f.rank, strings.Join(f.hosts, ", "), f.hosts[0])
			train := trainer.New(executor, trainer.Options{})
			options := f.options(a)
			options.Bus = l.Bus
			needs := asks{needs: asWorker(l.Bus, l.Store, l.Root, []events.Function{events.FunctionTrain}, f.classes).needs}
			return o.while(ctx, needs, func(ctx context.Context) error {
				return leaveWithin(ctx, f.grace, func(ctx context.Context) error {
					err := multihost.Follow(ctx, options, f.once, func(ctx context.Context, round *multihost.MemberRound) error {
						return executor.Follow(ctx, train, round)
					})
					if ctx.Err() != nil {
						return nil // asked to stop
					}
					return err
				})
			})
		})
	})
}

// isMember reports whether this host is a member of a group, which claims no jobs.
func (f *hostsFlags) isMember() bool { return f.several() && f.rank > 0 }
