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

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

//go:embed guest.py
var guestModule string

// guestJobs runs the module, one job at a time.
type guestJobs struct {
	host *guest.Host
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
	host, err := guest.New(guest.Options{Python: python, CacheDir: filepath.Join(dir, "cache"), Warm: 1, PythonWarm: way})
	if err != nil {
		return err
	}
	defer host.Close()
	return use(&guestJobs{host: host, dir: dir})
}

// guestTold is what the module tells.
type guestTold struct {
	First  int64   // nanoseconds since 1970
	CPU    float64 // seconds, of run_fn
	Parent int
}

func (g *guestJobs) run(ctx context.Context) (told guestTold, err error) {
	g.next++
	dir := filepath.Join(g.dir, strconv.Itoa(g.next))
	for _, sub := range []string{"working", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return told, err
		}
	}
	outcome, err := g.host.Run(ctx, module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: filepath.Join(g.dir, "bench_module.py")}, Call: module.CallTrain,
		TrainFiles: []string{filepath.Join(dir, "none-*")}, ServingModelDir: filepath.Join(dir, "model"),
		ModelRunDir: filepath.Join(dir, "run"), WorkingDir: filepath.Join(dir, "working"),
	}, guest.Limits{}, nil)
	if err != nil {
		return told, fmt.Errorf("%w\n%s", err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", "told.json"))
	if err != nil {
		return told, err
	}
	return told, errors.Join(json.Unmarshal(text, &told), os.RemoveAll(dir))
}

// firstLines are the times from when a job is handed to the host to the first line of its run_fn.
func (g *guestJobs) firstLines(ctx context.Context, rounds int, each func(guestTold)) (took samples, err error) {
	for range rounds {
		began := time.Now()
		told, err := g.run(ctx)
		if err != nil {
			return took, err
		}
		took.addTime(time.Unix(0, told.First).Sub(began))
		if each != nil {
			each(told)
		}
	}
	return took, nil
}
