package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed files_tensorflow.py
var tensorflowServer string

// tensorflow is a process of the real TensorFlow, the one that tests compare with, to compare
// with. It is used by one goroutine.
type tensorflow struct {
	stdin   io.Writer
	answers *bufio.Reader
}

// tensorflowName is how figures name the peer.
const tensorflowName = "TensorFlow 2.21"

// withTensorFlow starts TensorFlow, with so many threads for an operation and for operations at
// once, for the time that use takes. env is name=value pairs in addition to this process's own. The
// first time on a machine it is installed, which takes minutes.
func withTensorFlow(ctx context.Context, threads int, log io.Writer, use func(*tensorflow) error, env ...string) (err error) {
	python, err := tftest.Interpreter()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, python, "-c", tensorflowServer, strconv.Itoa(threads))
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=3", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start TensorFlow: %w", err)
	}
	err = use(&tensorflow{stdin: stdin, answers: bufio.NewReader(stdout)})
	return errors.Join(err, stdin.Close(), cmd.Wait())
}

// call calls a function of a Python script with in, and decodes what it returns into out. cpu is
// the CPU time of the call in seconds. A script is run once; what it leaves in its variables is
// there at the next call.
func (p *tensorflow) call(script, function string, in, out any) (cpu float64, err error) {
	request, err := json.Marshal(map[string]any{"script": script, "function": function, "in": in})
	if err != nil {
		return 0, err
	}
	if _, err := p.stdin.Write(append(request, '\n')); err != nil {
		return 0, fmt.Errorf("ask TensorFlow: %w", err)
	}
	line, err := p.answers.ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("TensorFlow ended: %w", err)
	}
	answer := struct {
		Out   json.RawMessage
		CPU   float64
		Error string
	}{}
	if err := json.Unmarshal(line, &answer); err != nil {
		return 0, fmt.Errorf("answer of TensorFlow: %w", err)
	}
	if answer.Error != "" {
		return 0, fmt.Errorf("%s in TensorFlow: %s", function, answer.Error)
	}
	return answer.CPU, json.Unmarshal(answer.Out, out)
}
