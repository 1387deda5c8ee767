package skew

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

// transformer executes a transform graph. It is for one goroutine at a time.
type transformer interface {
	// transform returns the transformed features of each row by name. An error may be one of a
	// single row.
	transform(ctx context.Context, rows []row) ([]map[string]values, error)
	close()
}

// goGraph is a transform graph that Go executes.
type goGraph struct{ *transform.Graph }

func (g goGraph) transform(ctx context.Context, rows []row) ([]map[string]values, error) {
	return runGraph(ctx, g.Graph, rows)
}

func (goGraph) close() {}

// openTransformer opens the graph of a TransformGraph artifact: in Go, or, if Go can't execute it,
// in TensorFlow, if python names an interpreter. tries are rows of the graph's raw schema: a graph
// that can be executed has features for at least one of them.
func openTransformer(ctx context.Context, dir, python string, tries []row) (transformer, error) {
	limited, cancel := context.WithTimeout(ctx, syntheticTime)
	defer cancel()
	opened, err := transform.OpenWithin(limited, dir, graph.Limits{})
	if err == nil {
		g := goGraph{opened}
		if executes(limited, g, tries) || python == "" {
			return g, nil
		}
		err = errors.New("it has an error for each row that was tried")
	}
	if python == "" || ctx.Err() != nil {
		return nil, err
	}
	started, pythonErr := startTensorflowGraph(ctx, python, filepath.Join(dir, "transform_fn"))
	if pythonErr == nil && !executes(ctx, started, tries) {
		started.close()
		pythonErr = errors.New("TensorFlow has an error for each row that was tried")
	}
	if pythonErr != nil {
		return nil, fmt.Errorf("%w; %w", err, pythonErr)
	}
	return started, nil
}

// executes reports whether a graph has features for any of some rows.
func executes(ctx context.Context, t transformer, rows []row) bool {
	for _, r := range rows {
		if _, err := t.transform(ctx, []row{r}); err == nil {
			return true
		}
	}
	return false
}

// tensorflowGraph is a transform graph in a process of TensorFlow, which ends with it.
type tensorflowGraph struct {
	command *exec.Cmd
	dir     string
	rows    *json.Encoder
	stdin   io.Closer
	answers *bufio.Scanner
	cancel  context.CancelFunc
	ended   chan error // of the process
}

// maxTransformed limits the written features of the rows that are transformed at a time.
const maxTransformed = 64 << 20

// startTensorflowGraph starts the process. The first answer shows whether the graph can be loaded.
func startTensorflowGraph(ctx context.Context, python, dir string) (_ *tensorflowGraph, err error) {
	ctx, cancel := context.WithTimeout(ctx, pythonTime)
	g := &tensorflowGraph{cancel: cancel, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			cancel()
			err = errors.Join(err, os.RemoveAll(g.dir))
		}
	}()
	if g.dir, err = os.MkdirTemp("", "skew-"); err != nil {
		return nil, err
	}
	script := filepath.Join(g.dir, "ask.py")
	if err := os.WriteFile(script, askScript, 0o600); err != nil {
		return nil, err
	}
	answers, written, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer written.Close()
	g.answers = bufio.NewScanner(answers)
	g.answers.Buffer(nil, maxTransformed)
	g.command = exec.CommandContext(ctx, python, "-I", script, "transform", dir)
	g.command.Env, g.command.SysProcAttr, g.command.WaitDelay = environment(g.dir), diesWithParent(), time.Second
	g.command.Stdout, g.command.Stderr = os.Stderr, os.Stderr // the log of the check
	// Descriptor 3, because a graph may print anything to the others.
	g.command.ExtraFiles = []*os.File{written}
	stdin, err := g.command.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, answers.Close())
	}
	g.stdin, g.rows = stdin, json.NewEncoder(stdin)
	started := make(chan error, 1)
	go func() { // for the kernel, the thread that starts a process is its parent
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := g.command.Start()
		started <- err
		if err == nil {
			g.ended <- errors.Join(g.command.Wait(), answers.Close())
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", python, err), answers.Close())
	}
	return g, nil
}

func (g *tensorflowGraph) transform(ctx context.Context, rows []row) ([]map[string]values, error) {
	var texts [][]byte
	for _, r := range rows {
		text, err := r.request(nil)
		if err != nil {
			return nil, err
		}
		texts = append(texts, []byte(text))
	}
	if err := g.rows.Encode(texts); err != nil {
		return nil, fmt.Errorf("transform rows with TensorFlow: %w", err)
	}
	stop := context.AfterFunc(ctx, g.cancel)
	defer stop()
	if !g.answers.Scan() {
		return nil, fmt.Errorf("transform rows with TensorFlow: %w", errors.Join(g.answers.Err(), context.Cause(ctx), io.ErrUnexpectedEOF))
	}
	var answer wireAnswer
	if err := json.Unmarshal(g.answers.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("transform rows with TensorFlow: %w", err)
	}
	if name := answer.Unable + answer.Error; name != "" {
		return nil, fmt.Errorf("transform rows with TensorFlow: the graph ends with %s", errorName(name))
	}
	tensors, err := answer.tensors()
	if err != nil {
		return nil, err
	}
	return featuresOf(tensors, len(rows))
}

// featuresOf splits the outputs of a transform graph by row. Those of sparse tensors have several
// names.
func featuresOf(tensors map[string]tensor.Tensor, rows int) ([]map[string]values, error) {
	all := make([]map[string]values, rows)
	for i := range all {
		all[i] = map[string]values{}
	}
	for name, t := range tensors {
		var c column
		var err error
		of, isSparse := strings.CutSuffix(name, "/values")
		switch {
		case isSparse && tensors[of+"/indices"] != nil:
			name = of
			c, err = sparseColumn(tensors[of+"/indices"], t, rows)
		case len(t.Shape()) > 0:
			c, err = columnOf(t)
		}
		if err != nil {
			return nil, fmt.Errorf("transformed feature %q: %w", name, err)
		}
		if len(c) != rows {
			continue
		}
		for i := range all {
			all[i][name] = c[i]
		}
	}
	return all, nil
}

// close ends the process and waits for it.
func (g *tensorflowGraph) close() {
	g.cancel()
	_ = g.stdin.Close() // a pipe to a process that is ended
	<-g.ended
	_ = os.RemoveAll(g.dir) // a leftover is removed with the check's directory
}
