package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

// firstStep is the argument with which this program takes one step of work A on a file, and says
// so.
const firstStep = "first-step"

// takeFirstStep is all that a user's module does up to its first step: it builds the model, reads,
// compiles and learns.
func takeFirstStep(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New(firstStep + " takes the file to read")
	}
	w := penguins()
	model, err := w.model()
	if err != nil {
		return err
	}
	adam, err := optim.New("adam", learningRate)
	if err != nil {
		return err
	}
	o := train.Options{Steps: 1, BatchSize: w.batch, Optimizer: adam, Stepped: func(_ int, loss float32) { fmt.Fprintln(out, "loss", loss) }}
	return w.run(ctx, args[0], o, model)
}

// firstSteps measures from exec of an empty process to the line that it writes behind its first
// step.
func (b bench) firstSteps(ctx context.Context, dir string) ([]figure, error) {
	file := filepath.Join(dir, "first-step")
	if err := penguins().write(file, 1000); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var s samples
	for range b.times(20) {
		took, err := timeToLine(exec.CommandContext(ctx, self, firstStep, file), "loss ")
		if err != nil {
			return nil, err
		}
		s.addTime(took)
	}
	return []figure{alone("compute-first-step", milliseconds, s.quantile(0.5), s, "< 50")}, nil
}

// timeToLine runs a command to its end, and returns how long it took to write a first line, which
// begins with prefix.
func timeToLine(cmd *exec.Cmd, prefix string) (time.Duration, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	took := time.Since(began)
	if err == nil && !strings.HasPrefix(line, prefix) {
		err = fmt.Errorf("first line %q, expected %q", line, prefix)
	}
	return took, errors.Join(err, cmd.Wait())
}
