package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/local/demo"
)

// idleTime is how long `stoker up` has been idle when its memory is read.
const idleTime = 5 * time.Second

// sizePart measures the binary on disk and an idle `stoker up` in memory, the parent alone.
func sizePart() part {
	return part{"size", []group{{
		rounds: 5,
		figures: []spec{
			{name: "binary-size", unit: megabytes, of: "binary", goal: "< 70"},
			{name: "up-idle-resident-p50", unit: megabytes, of: "idle", goal: "< 80"},
		},
		setup: func(ctx context.Context, b bench, r *recorder) error {
			info, err := os.Stat(b.binary)
			if err != nil {
				return fmt.Errorf("%w (task build makes it)", err)
			}
			r.add("binary", float64(info.Size())/1e6)
			return r.run(ctx, func(int) error {
				return b.withUp(ctx, upOptions{}, func(ctx context.Context, up deployment) error {
					if err := sleep(ctx, idleTime); err != nil {
						return err
					}
					stat, err := statOf(up.pid)
					r.add("idle", float64(stat.ResidentMemory())/1e6)
					return err
				})
			})
		},
	}}}
}

// readyPart measures how long bus and store take to be ready: from the call of stack.With to its
// body, and from the start of a process to its line that it is up. A fresh directory is empty; a
// used one holds what an earlier start left there.
func readyPart() part {
	const goal = "< 150"
	var groups []group
	for _, way := range []struct {
		name string
		time func(bench, context.Context, string) (time.Duration, error)
	}{{"stack-ready", bench.timeStack}, {"up-ready", bench.timeUp}} {
		groups = append(groups, group{
			rounds: 30,
			figures: []spec{
				{name: way.name + "-fresh-p50", unit: milliseconds, of: "fresh", goal: goal},
				{name: way.name + "-used-p50", unit: milliseconds, of: "used", goal: goal},
			},
			setup: func(ctx context.Context, b bench, r *recorder) error {
				return inTempDir(func(dir string) error {
					return r.run(ctx, func(round int) error {
						for _, series := range []string{"fresh", "used"} {
							took, err := way.time(b, ctx, filepath.Join(dir, strconv.Itoa(round)))
							if err != nil {
								return err
							}
							r.addTime(series, took)
						}
						return nil
					})
				})
			},
		})
	}
	return part{"ready", groups}
}

func (bench) timeStack(ctx context.Context, dir string) (took time.Duration, err error) {
	began := time.Now()
	err = stack.With(ctx, stack.Options{DataDir: dir, Builtins: builtin.Digests(), Slots: 1}, func(context.Context, *stack.Stack) error {
		took = time.Since(began)
		return nil
	})
	return took, err
}

func (b bench) timeUp(ctx context.Context, dir string) (took time.Duration, err error) {
	err = b.withUp(ctx, upOptions{dir: dir}, func(_ context.Context, up deployment) error {
		took = up.started
		return nil
	})
	return took, err
}

// childPart measures how much of a module's start is the start of the binary itself: from exec to
// the first line of the protocol, for an assignment that is rejected at once.
func childPart() part {
	return part{"child", []group{{
		rounds:  200,
		figures: tails("child-first-line", ""),
		setup: func(ctx context.Context, b bench, r *recorder) error {
			return r.run(ctx, func(int) error {
				took, err := b.firstLine(ctx)
				r.addTime("child-first-line", took)
				return err
			})
		},
	}}}
}

// firstLine starts the binary as a module process and stops the clock at its first message.
func (b bench) firstLine(ctx context.Context) (time.Duration, error) {
	progress, theirs, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer progress.Close()
	cmd := exec.CommandContext(ctx, b.binary, "module")
	cmd.Stdin = strings.NewReader("{}\n")
	cmd.Env = append(os.Environ(), module.ProgressEnv+"=3")
	cmd.ExtraFiles = []*os.File{theirs}
	began := time.Now()
	err = cmd.Start()
	_ = theirs.Close() // the process has its own
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", b.binary, err)
	}
	line, err := bufio.NewReader(progress).ReadString('\n')
	took := time.Since(began)
	exit := cmd.Wait() // with status 1: the assignment was rejected
	if err != nil || !strings.Contains(line, string(module.MessageError)) {
		return 0, fmt.Errorf("%s module wrote %q: %w", b.binary, line, errors.Join(err, exit))
	}
	return took, nil
}

// coldPart measures a worker that is started for a job that waits: from the start of
// `stoker worker --once` to the job's lease on the bus. Bus, store and dispatcher run in another
// process, and the binary is in the disk's cache. The first round trains; the others find its
// result cached, so that their jobs take little beyond the start.
func coldPart() part {
	const goal = "< 200" // of a worker that is scaled from zero
	return part{"cold", []group{{
		rounds: 50, warmUp: 1,
		figures: append(tails("cold-worker-job-taken", goal),
			spec{name: "cold-worker-gone-cached-job-p50", unit: milliseconds, of: "ended"}),
		setup: func(ctx context.Context, b bench, r *recorder) error {
			return b.withClient(ctx, upOptions{flags: []string{"--slots", "0"}}, func(ctx context.Context, c *client) error {
				if _, _, err := dispatch.Apply(ctx, c.bus, c.spec); err != nil {
					return err
				}
				return r.run(ctx, func(round int) error {
					taken, ended, err := b.startWorker(ctx, c, "cold-"+strconv.Itoa(round))
					r.addTime("cold-worker-job-taken", taken)
					r.addTime("ended", ended)
					return err
				})
			})
		},
	}}}
}

// startWorker starts a worker for the one job that waits.
func (b bench) startWorker(ctx context.Context, c *client, run string) (taken, ended time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	job, err := c.enqueued(ctx, run)
	if err != nil {
		return 0, 0, err
	}
	ready, lease := make(chan struct{}), make(chan error, 1)
	var at time.Time
	go func() { // its end is waited for below
		var err error
		at, err = c.leased(ctx, job, ready)
		lease <- err
	}()
	select {
	case <-ready:
	case err := <-lease:
		return 0, 0, err
	}
	began := time.Now()
	err = b.workOnce(ctx, c)
	ended = time.Since(began)
	if err != nil {
		cancel()
	}
	err = errors.Join(err, <-lease)
	return at.Sub(began), ended, err
}

// enqueued publishes the events of a run and waits until its job is on the queue.
func (c *client) enqueued(ctx context.Context, run string) (job string, err error) {
	if err := publishAll(ctx, c.bus, demo.Events(c.artifacts, run)); err != nil {
		return "", err
	}
	for {
		j, err := runs.Open(c.bus, runs.Options{}).Join(ctx, runs.Key{Pipeline: demo.PipelineName, Run: run})
		switch {
		case err == nil && j.State == join.Dispatched:
			return j.Current().Job, nil
		case err != nil && !errors.Is(err, events.ErrNotFound):
			return "", err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return "", fmt.Errorf("wait for the job of run %s: %w", run, err)
		}
	}
}

// leased waits until a worker holds a job's lease and returns when that was seen. It closes ready
// once it watches.
func (c *client) leased(ctx context.Context, job string, ready chan<- struct{}) (time.Time, error) {
	leases, err := c.bus.KV(ctx, events.KVLeases)
	if err != nil {
		return time.Time{}, err
	}
	for entry, err := range leases.Watch(ctx) {
		switch {
		case err != nil:
			return time.Time{}, err
		case entry.Revision == 0: // all that was there before has been seen
			close(ready)
		case entry.Key == job && !entry.Deleted:
			return time.Now(), nil
		}
	}
	return time.Time{}, fmt.Errorf("no worker took job %s: %w", job, context.Cause(ctx))
}

// workOnce runs `stoker worker --once` as a pod would: configured by its environment alone.
func (b bench) workOnce(ctx context.Context, c *client) error {
	cmd := exec.CommandContext(ctx, b.binary, "worker", "--once")
	to := c.connection
	cmd.Env = append(os.Environ(), "NATS_URL="+to.NATS, "STOKER_ROOT="+to.Root, "AWS_ENDPOINT_URL_S3="+to.S3,
		"AWS_ACCESS_KEY_ID="+to.AccessKey, "AWS_SECRET_ACCESS_KEY="+to.SecretKey)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("stoker worker --once: %w\n%s", err, stderr.String())
	}
	return nil
}

// walkPart follows an event through a running `stoker up`, for the penguin job: 100 steps of batch
// 20. The join is completed by the event of the transform, and the clock starts when that is about
// to be published. The first group has a module that reports at once when it runs; the second has
// the builtin module, for the whole job.
func walkPart() part {
	median := func(name string) spec { return spec{name: name + "-p50", unit: milliseconds, of: name} }
	return part{"walk", []group{
		{
			rounds: 200,
			figures: append(tails("event-to-module", "< 30"),
				median("of-it-event-to-worker"), median("of-it-staging"), median("of-it-module-start")),
			setup: followRuns("probe", func(r *recorder, t runTimes) {
				r.addTime("event-to-module", t.module)
				r.addTime("of-it-event-to-worker", t.phase[staging])
				r.addTime("of-it-staging", t.phase[starting]-t.phase[staging])
				r.addTime("of-it-module-start", t.module-t.phase[starting])
			}),
		},
		{
			rounds: 200,
			figures: append(append([]spec{median("event-to-first-progress")}, tails("event-to-model", "< 500")...),
				// All that the deployment spends in a round, on bus, store and dispatcher too. TFX
				// took half a gigabyte of Python, and is not run again.
				spec{name: "job-cpu-mean", unit: cpuSeconds, of: "cpu", at: samples.mean,
					peers: []peer{{name: "TFX 1.16 Trainer, once imported; recorded, not run again", recorded: 22.0}}},
				// Shows that models were trained.
				spec{name: "job-accuracy-mean", unit: fraction, of: "accuracy", at: samples.mean}),
			setup: followRuns("job", func(r *recorder, t runTimes) {
				r.addTime("event-to-first-progress", t.module)
				r.addTime("event-to-model", t.trained)
				r.add("accuracy", t.accuracy)
			}),
		},
	}}
}

// followRuns deploys the demo's pipeline again in each round, with this program as its module for
// "probe", and follows a run of it.
func followRuns(name string, record func(*recorder, runTimes)) func(context.Context, bench, *recorder) error {
	return func(ctx context.Context, b bench, r *recorder) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return b.withClient(ctx, upOptions{}, func(ctx context.Context, c *client) error {
			if name == "probe" {
				c.spec.Module.Path = self
			}
			return r.run(ctx, func(round int) error {
				before, err := cpuTime(c.pid)
				if err != nil {
					return err
				}
				if err := c.deploy(ctx, c.spec, round+1); err != nil {
					return err
				}
				t, err := c.follow(ctx, fmt.Sprintf("%s-%d", name, round))
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				record(r, t)
				after, err := cpuTime(c.pid)
				r.add("cpu", after-before)
				return err
			})
		})
	}
}

const (
	noopName = "noop"    // a module that only reports that it runs
	running  = "running" // the phase that benchModule reports first
)

// benchModule returns this program as a module: it reports at once that it runs, and then trains as
// builtin:dnn does. The program links all that stoker links, so that its process starts as stoker's
// own module process does.
func benchModule() module.Module {
	return module.Module{Check: modelcheck.Serve, Tune: sleepingStudy, Train: func(ctx context.Context, a *module.Args) error {
		if a.Trial != nil {
			return sleepingTrial(ctx, a)
		}
		a.Send(module.Message{Type: module.MessageProgress, Phase: running})
		if a.Module.Path == module.BuiltinPrefix+noopName {
			return nil
		}
		return builtin.Run(ctx, "dnn", a.Assignment, a.Send)
	}}
}
