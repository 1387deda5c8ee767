package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

//go:embed guest.py
var guestModule string

// guestJobs runs the module, one job at a time.
type guestJobs struct {
	host *runner.Runner
	dir  string
	next int
}

// withGuest has a host for the time that use takes. The environment's packages have been looked at
// then, as a worker has after its first job.
func withGuest(python, way string, use func(*guestJobs) error) error {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "bench_module.py"), []byte(guestModule), 0o600); err != nil {
		return err
	}
	host, err := runner.New(runner.Options{Python: python, CacheDir: filepath.Join(dir, "cache"), Warm: 1, PythonWarm: way})
	if err != nil {
		return err
	}
	defer host.Close()
	return use(&guestJobs{host: host, dir: dir})
}

// guestReport is the report of the module.
type guestReport struct {
	First  int64   // nanoseconds since 1970
	CPU    float64 // seconds, of run_fn
	Parent int
}

func (g *guestJobs) run(ctx context.Context) (report guestReport, err error) {
	g.next++
	dir := filepath.Join(g.dir, strconv.Itoa(g.next))
	for _, sub := range []string{"working", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return report, err
		}
	}
	outcome, err := g.host.Run(ctx, module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: filepath.Join(g.dir, "bench_module.py")}, Call: module.CallTrain,
		TrainFiles: []string{filepath.Join(dir, "none-*")}, ServingModelDir: filepath.Join(dir, "model"),
		ModelRunDir: filepath.Join(dir, "run"), WorkingDir: filepath.Join(dir, "working"),
	}, runner.Limits{}, nil)
	if err != nil {
		return report, fmt.Errorf("%w\n%s", err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", "report.json"))
	if err != nil {
		return report, err
	}
	return report, errors.Join(json.Unmarshal(text, &report), os.RemoveAll(dir))
}

// firstLines are the times from when a job is handed to the host to the first line of its run_fn.
func (g *guestJobs) firstLines(ctx context.Context, rounds int, each func(guestReport)) (took samples, err error) {
	for range rounds {
		began := time.Now()
		report, err := g.run(ctx)
		if err != nil {
			return took, err
		}
		took.addTime(time.Unix(0, report.First).Sub(began))
		if each != nil {
			each(report)
		}
	}
	return took, nil
}
