package readmetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options of Run.
type Options struct {
	Dir     string        // the shell's first working directory
	Env     []string      // its whole environment, as in os/exec
	Timeout time.Duration // for each command, and for one in the background to be ready
	Log     io.Writer     // receives the commands and their output while they run
}

// Run types the blocks, of one page or of several, into one shell. It stops at the first command
// that fails or whose output differs from the expected one; the error names its page and line and
// shows both outputs. All processes have ended when Run returns.
func Run(ctx context.Context, blocks []Block, o Options) (err error) {
	var running []*background
	defer func() {
		for _, b := range running {
			err = errors.Join(err, b.stop())
		}
	}()
	return withShell(o, func(sh *shell) error {
		for _, block := range blocks {
			switch {
			case block.Skip != "":
				fmt.Fprintf(o.Log, "%s:%d: skipped, because %s\n", block.Page, block.Line, block.Skip)
			case block.Background:
				b, err := o.background(ctx, block, sh.dir)
				if b != nil {
					running = append(running, b)
				}
				if err != nil {
					return err
				}
			default:
				if err := o.foreground(ctx, block, sh); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (o Options) foreground(ctx context.Context, block Block, sh *shell) error {
	for _, step := range block.Steps {
		if err := o.step(ctx, step, sh); err != nil {
			return fmt.Errorf("%s:%d: $ %s: %w", block.Page, step.Line, step.Command, err)
		}
	}
	return nil
}

func (o Options) step(ctx context.Context, step Step, sh *shell) error {
	ctx, cancel := o.limit(ctx)
	defer cancel()
	fmt.Fprintf(o.Log, "$ %s\n", step.Command)
	printed, err := sh.run(ctx, step.Command)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, indent(printed))
	}
	if !matches(step.Want, printed) {
		return fmt.Errorf("prints something else\n%s", difference(step.Want, printed))
	}
	return nil
}

// background starts the block's command and waits until it is ready. The command is returned even
// with an error; the caller must stop it.
func (o Options) background(ctx context.Context, block Block, dir string) (*background, error) {
	step := block.Steps[0]
	ctx, cancel := o.limit(ctx)
	defer cancel()
	fmt.Fprintf(o.Log, "$ %s &\n", step.Command)
	b, err := startBackground(block, dir, o)
	if err == nil {
		err = b.ready(ctx)
	}
	if err != nil {
		return b, fmt.Errorf("%s:%d: $ %s: %w", block.Page, step.Line, step.Command, err)
	}
	return b, nil
}

func (o Options) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done in %v", o.Timeout))
}

func difference(want, got string) string {
	return "  the page says:\n" + indent(want) + "  it prints:\n" + indent(got)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
