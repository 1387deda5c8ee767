package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// tfxPart measures how a TFX module starts: cold, forked from a process that has imported
// everything, and in one that waits. A job begins when the worker has it; the parts noop and walk
// measure what precedes that. Then it measures a whole job, compared with plain Python.
func tfxPart() part {
	memory := func(name string) []spec {
		return []spec{{name: name + "-pss", unit: megabytes, of: "pss"}, {name: name + "-private", unit: megabytes, of: "private"}}
	}
	return part{"tfx", []group{
		{
			rounds: 5, figures: tails("tfx-cold-job-to-run-fn", ""),
			setup: withTFX(runner.WarmOff, func(ctx context.Context, g *tfxJobs, r *recorder) error {
				return r.run(ctx, func(int) error { return g.time(ctx, r, "tfx-cold-job-to-run-fn") })
			}),
		},
		{
			rounds: 50, warmUp: 1, // which waits for the imports
			figures: slices.Concat(tails("tfx-fork-job-to-run-fn", "< 150"), []spec{
				{name: "tfx-fork-overhead-cpu-mean", unit: cpuSeconds, of: "overhead", at: samples.mean, goal: "< 0.2"},
			}, memory("tfx-fork-server")),
			setup: withTFX(runner.WarmFork, timeForked),
		},
		{
			rounds: 10, warmUp: 1,
			figures: append(tails("tfx-idle-job-to-run-fn", "< 50"), memory("tfx-idle-process")...),
			setup: withTFX(runner.WarmIdle, func(ctx context.Context, g *tfxJobs, r *recorder) error {
				return r.run(ctx, func(round int) error {
					if round > 0 { // a job that is early would wait for the rest of the imports
						pid, err := waitingProcess(ctx)
						if err == nil {
							err = recordMemory(r, pid)
						}
						if err != nil {
							return err
						}
					}
					return g.time(ctx, r, "tfx-idle-job-to-run-fn")
				})
			}),
		},
		penguinGroup(),
	}}
}

// timeForked also records what Stoker adds to run_fn: all CPU time of this process, of the one that
// forks and of the child, less that of run_fn itself.
func timeForked(ctx context.Context, g *tfxJobs, r *recorder) error {
	parent := os.Getpid() // until the first job has shown which process forks
	return r.run(ctx, func(int) error {
		before, err := cpuTime(os.Getpid(), parent)
		if err != nil {
			return err
		}
		if err := g.time(ctx, r, "tfx-fork-job-to-run-fn"); err != nil {
			return err
		}
		after, err := cpuTime(os.Getpid(), parent)
		r.add("overhead", after-before-g.report.CPU)
		parent = g.report.Parent
		return errors.Join(err, recordMemory(r, parent))
	})
}

func recordMemory(r *recorder, pid int) error {
	pss, private, err := memoryOf(pid)
	r.add("pss", pss)
	r.add("private", private)
	return err
}

// waitingProcess finds this process's child in the driver's mode idle, once it has imported
// everything: it has used no CPU for a while.
func waitingProcess(ctx context.Context) (int, error) {
	const quiet = 500 * time.Millisecond
	for before := -1.0; ; {
		children, err := childrenOf(os.Getpid())
		if err != nil {
			return 0, err
		}
		for _, child := range children {
			if command, _ := child.CmdLine(); len(command) == 0 || command[len(command)-1] != "idle" {
				continue
			}
			now, err := cpuTime(child.PID)
			if err != nil {
				return 0, err
			}
			if now == before && now > 1 {
				return child.PID, nil
			}
			before = now
		}
		if err := sleep(ctx, quiet); err != nil {
			return 0, err
		}
	}
}

//go:embed tfx.py
var tfxModule string

// tfxJobs runs the module, one job at a time.
type tfxJobs struct {
	modules *runner.Runner
	dir     string
	next    int
	report  tfxReport // of the last job
}

// tfxReport is the report of the module.
type tfxReport struct {
	First  int64   // when its first line ran, in nanoseconds since 1970
	CPU    float64 // of run_fn, in seconds
	Parent int     // the process that started it
}

// withTFX returns a set-up with a runner of Python modules that are started in a way. The packages
// of the environment have been examined before, as for a worker after its first job.
func withTFX(way string, use func(context.Context, *tfxJobs, *recorder) error) func(context.Context, bench, *recorder) error {
	return func(ctx context.Context, _ bench, r *recorder) error {
		interpreter, err := tftest.Interpreter()
		if err != nil {
			return err
		}
		return inTempDir(func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "bench_module.py"), []byte(tfxModule), 0o600); err != nil {
				return err
			}
			modules, err := runner.New(runner.Options{Python: interpreter, CacheDir: filepath.Join(dir, "cache"), Warm: 1, PythonWarm: way})
			if err != nil {
				return err
			}
			defer modules.Close()
			return use(ctx, &tfxJobs{modules: modules, dir: dir}, r)
		})
	}
}

// time runs a job and adds the time from when it is handed to the runner to the first line of its
// run_fn.
func (g *tfxJobs) time(ctx context.Context, r *recorder, series string) error {
	began := time.Now()
	err := g.run(ctx)
	r.addTime(series, time.Unix(0, g.report.First).Sub(began))
	return err
}

func (g *tfxJobs) run(ctx context.Context) error {
	g.next++
	dir := filepath.Join(g.dir, strconv.Itoa(g.next))
	for _, sub := range []string{"working", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	outcome, err := g.modules.Run(ctx, module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: filepath.Join(g.dir, "bench_module.py")}, Call: module.CallTrain,
		TrainFiles: []string{filepath.Join(dir, "none-*")}, ServingModelDir: filepath.Join(dir, "model"),
		ModelRunDir: filepath.Join(dir, "run"), WorkingDir: filepath.Join(dir, "working"),
	}, runner.Limits{}, nil)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", "report.json"))
	if err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(text, &g.report), os.RemoveAll(dir))
}

// The example that both train, and its data, from the repository's root.
const (
	exampleModule = "local/examples/penguin_tfx/penguin_utils.py"
	exampleData   = "local/demo/data"
)

// penguinGroup measures the whole job of the example's TFX module, from the event to ModelTrained,
// through a running `stoker up`, and the same run_fn in plain Python: once as jobs are run, and
// once with all of AutoGraph's work, which plain Python does too.
func penguinGroup() group {
	plain := func(series string) []peer {
		return []peer{{name: "the same run_fn in plain Python, all imported", series: series}}
	}
	return group{
		// The first starts cold, and in the second the process that forks may still import.
		rounds: 7, warmUp: 2,
		figures: []spec{
			{name: "tfx-penguin-event-to-model-p50", unit: milliseconds, of: "ours", goal: "less than plain", peers: plain("plain")},
			{name: "tfx-penguin-cpu-p50", unit: cpuSeconds, of: "our cpu", peers: plain("plain cpu")},
			{name: "tfx-penguin-autograph-all-p50", unit: milliseconds, of: "all", peers: plain("plain")},
			{name: "tfx-penguin-autograph-all-beyond-plain", unit: milliseconds, of: "beyond", goal: "< 500"},
		},
		setup: func(ctx context.Context, b bench, r *recorder) error {
			interpreter, err := tftest.Interpreter()
			if err != nil {
				return err
			}
			return b.withClient(ctx, upOptions{env: []string{"STOKER_PYTHON=" + interpreter}}, func(ctx context.Context, c *client) error {
				if c.spec, err = examplePipeline(); err != nil {
					return err
				}
				return r.run(ctx, func(round int) error {
					ours, cpu, err := c.followPenguin(ctx, module.AutographUser, 2*round)
					if err != nil {
						return err
					}
					all, _, err := c.followPenguin(ctx, module.AutographAll, 2*round+1)
					if err != nil {
						return err
					}
					plain, err := runPlain(ctx, interpreter)
					r.addTime("ours", ours)
					r.addTime("all", all)
					r.add("our cpu", cpu)
					r.add("plain", plain.Wall)
					r.add("plain cpu", plain.CPU)
					r.add("beyond", all.Seconds()*1000-plain.Wall)
					return err
				})
			})
		},
	}
}

// examplePipeline returns the example's own, with the penguins of the demo.
func examplePipeline() (pipeline.Pipeline, error) {
	path := filepath.Join(filepath.Dir(exampleModule), "penguin.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	spec, err := pipeline.Parse(path, text)
	if err != nil {
		return spec, err
	}
	spec.Module.Path, err = filepath.Abs(exampleModule)
	spec.Trainer.Hyperparameters = pipeline.HyperparametersNone // plain Python has none either
	return spec, err
}

// followPenguin follows a run and counts the CPU time of the deployment with all its processes. The
// number makes an execution that is not cached.
func (c *client) followPenguin(ctx context.Context, autograph string, number int) (trained time.Duration, cpu float64, err error) {
	spec := c.spec
	spec.Module.Autograph = autograph
	before, err := treeCPU(c.pid)
	if err != nil {
		return 0, 0, err
	}
	if err := c.deploy(ctx, spec, number+1); err != nil {
		return 0, 0, err
	}
	t, err := c.follow(ctx, fmt.Sprintf("tfx-%s-%d", autograph, number))
	if err != nil {
		return 0, 0, err
	}
	after, err := treeCPU(c.pid)
	return t.trained, after - before, err
}

//go:embed tfx_plain.py
var plainScript string

// plainRun is what run_fn alone took in plain Python.
type plainRun struct {
	Wall float64 // milliseconds
	CPU  float64 // seconds
}

// runPlain runs the example's run_fn in a process of its own, of Stoker with the names of tfx only.
func runPlain(ctx context.Context, interpreter string) (p plainRun, err error) {
	data, err := filepath.Abs(exampleData)
	if err != nil {
		return p, err
	}
	err = inTempDir(func(dir string) error {
		layout, err := python.Lay(filepath.Join(dir, "cache"))
		if err != nil {
			return err
		}
		args, err := json.Marshal(map[string]any{
			"train_files":          []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
			"eval_files":           []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
			"transform_graph_path": filepath.Join(data, "transform_graph"), "train_steps": 100, "eval_steps": 5,
			"serving_model_dir": filepath.Join(dir, "model"), "model_run_dir": filepath.Join(dir, "run"),
		})
		if err != nil {
			return err
		}
		path := layout.Shim + string(filepath.ListSeparator) + filepath.Dir(exampleModule)
		cmd := exec.CommandContext(ctx, interpreter, "-c", plainScript)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "TF_USE_LEGACY_KERAS=0")
		cmd.Stdin = bytes.NewReader(args)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("run_fn in plain Python: %w\n%s", err, stderr.String())
		}
		lines := bytes.Split(bytes.TrimSpace(out), []byte("\n")) // Keras prints too
		return json.Unmarshal(lines[len(lines)-1], &p)
	})
	return p, err
}
