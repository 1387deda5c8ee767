package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	traces   = 3               // runs that are traced, one after another
	patience = 2 * time.Minute // for the answer to a signal, on a busy machine
)

//go:embed testdata/counters.go
var counters []byte

//go:embed testdata/pipeline.yaml
var pipelineYAML string

//go:embed testdata/transform.json
var transformJSON []byte

// export writes the files of a revision into a new directory.
func export(ctx context.Context, revision, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	archive := exec.CommandContext(ctx, "git", "archive", revision)
	untar := exec.CommandContext(ctx, "tar", "-x", "-C", dir)
	var err error
	if untar.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	archive.Stderr, untar.Stderr = os.Stderr, os.Stderr
	if err := archive.Start(); err != nil {
		return err
	}
	return errors.Join(untar.Run(), archive.Wait())
}

// tracePath builds the program in source with counters of coverage, and traces runs through `stoker
// up`. dir is for temporary files.
func tracePath(ctx context.Context, source, dir string) (eventPath, error) {
	t := tracer{source: source, dir: dir}
	if err := os.Mkdir(t.file("counters"), 0o755); err != nil {
		return eventPath{}, err
	}
	if err := t.build(ctx); err != nil {
		return eventPath{}, fmt.Errorf("build with coverage: %w", err)
	}
	var executed map[function]bool
	err := t.withUp(ctx, func(up *os.Process) error {
		for n := range traces {
			functions, err := t.run(ctx, up, n)
			if err != nil {
				return fmt.Errorf("trace a run: %w", err)
			}
			if executed == nil {
				executed = functions
			}
			maps.DeleteFunc(executed, func(f function, _ bool) bool { return !functions[f] })
		}
		return nil
	})
	return newEventPath(executed), err
}

type tracer struct{ source, dir string }

func (t tracer) file(name string) string { return filepath.Join(t.dir, name) }

func (t tracer) build(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(t.source, "functions/stoker/arch_counters.go"), counters, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-cover", "-covermode=atomic",
		"-coverpkg=./events/...,./storage/...,./functions/...", "-o", t.file("stoker"), "./functions/stoker")
	cmd.Dir, cmd.Env = t.source, append(os.Environ(), "CGO_ENABLED=0")
	return output(cmd)
}

// stoker returns a command of the program. The coverage that it writes at its end goes to an unused
// directory.
func (t tracer) stoker(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.file("stoker"), append(args, "--data", t.file("data"))...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.dir, "ARCH_COUNTERS="+t.file("counters"))
	return cmd
}

// withUp runs the local stack, with the demo's data in its store.
func (t tracer) withUp(ctx context.Context, do func(up *os.Process) error) error {
	cmd := t.stoker(ctx, "up", "--console-listen", "off")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines, printed := bufio.NewScanner(stderr), ""
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "stoker is up") {
		printed += lines.Text() + "\n"
	}
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stderr)
		close(drained)
	}()
	if err = t.upload(ctx); err == nil {
		err = do(cmd.Process)
	}
	_ = cmd.Process.Signal(os.Interrupt) // if it has ended, the error above shows it
	<-drained
	_ = cmd.Wait() // it ends with the status of an interrupt
	if err != nil {
		return fmt.Errorf("%w\nstoker up: %s", err, printed)
	}
	return nil
}

func (t tracer) upload(ctx context.Context) error {
	for _, name := range []string{"examples", "transformed_examples", "transform_graph"} {
		from := filepath.Join(t.source, "local/demo/data", name)
		if err := output(t.stoker(ctx, "upload", from, "s3://stoker/demo/penguin/"+name)); err != nil {
			return err
		}
	}
	return os.WriteFile(t.file("transform.json"), transformJSON, 0o600)
}

// run applies a new pipeline, publishes an event and returns what was executed until its model was
// there.
func (t tracer) run(ctx context.Context, up *os.Process, n int) (map[function]bool, error) {
	pipeline := strings.Replace(pipelineYAML, "num_steps: 20", fmt.Sprintf("num_steps: %d", 21+n), 1)
	if err := os.WriteFile(t.file("pipeline.yaml"), []byte(pipeline), 0o600); err != nil {
		return nil, err
	}
	if err := output(t.stoker(ctx, "apply", t.file("pipeline.yaml"))); err != nil {
		return nil, err
	}
	if err := t.signal(up, syscall.SIGUSR1, "cleared"); err != nil {
		return nil, err
	}
	publish := t.stoker(ctx, "publish", t.file("transform.json"), "--kind", "transform.ready", "--pipeline", "traced",
		"--run", fmt.Sprint("run-", n), "--wait")
	if err := output(publish); err != nil {
		return nil, err
	}
	if err := t.signal(up, syscall.SIGUSR2, "written"); err != nil {
		return nil, err
	}
	return t.executed(ctx)
}

// signal sends a signal and waits for its answer, a file.
func (t tracer) signal(up *os.Process, s os.Signal, answer string) error {
	file := filepath.Join(t.file("counters"), answer)
	if err := up.Signal(s); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if os.Remove(file) == nil {
			return nil
		}
	}
	return fmt.Errorf("no answer to %s in %s", s, patience)
}

// executed reads the counters, and removes them.
func (t tracer) executed(ctx context.Context) (map[function]bool, error) {
	text := t.file("coverage.txt")
	if err := output(exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+t.file("counters"), "-o="+text)); err != nil {
		return nil, err
	}
	old, err := filepath.Glob(filepath.Join(t.file("counters"), "cov*"))
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	profile, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	return executedIn(os.DirFS(t.source), module, string(profile))
}

// output runs a command. Its error has what the command printed.
func output(cmd *exec.Cmd) error {
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(printed))
	}
	return nil
}
