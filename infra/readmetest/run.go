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
	Dir     string        // where the shell begins
	Env     []string      // its whole environment, as in os/exec
	Timeout time.Duration // for each command, and for one in the background to be ready
	Log     io.Writer     // gets the commands and what they print, as it comes
}

// Run types the blocks into one shell and stops at the first command that doesn't do what its block
// says; the error names its line and shows both outputs. All processes have ended when it returns.
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
				fmt.Fprintf(o.Log, "line %d: skipped, because %s\n", block.Line, block.Skip)
			case block.Background:
				b, err := o.background(ctx, block.Steps[0], sh.dir)
				if b != nil {
					running = append(running, b)
				}
				if err != nil {
					return err
				}
			default:
				if err := o.foreground(ctx, block.Steps, sh); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (o Options) foreground(ctx context.Context, steps []Step, sh *shell) error {
	for _, step := range steps {
		if err := o.step(ctx, step, sh); err != nil {
			return fmt.Errorf("line %d: $ %s: %w", step.Line, step.Command, err)
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

// background returns the command also when it isn't ready in time: whoever gets it stops it.
func (o Options) background(ctx context.Context, step Step, dir string) (*background, error) {
	ctx, cancel := o.limit(ctx)
	defer cancel()
	fmt.Fprintf(o.Log, "$ %s &\n", step.Command)
	b, err := startBackground(step, dir, o)
	if err == nil {
		err = b.ready(ctx)
	}
	if err != nil {
		return b, fmt.Errorf("line %d: $ %s: %w", step.Line, step.Command, err)
	}
	return b, nil
}

func (o Options) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done in %v", o.Timeout))
}

func difference(want, got string) string {
	return "  the README says:\n" + indent(want) + "  it prints:\n" + indent(got)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
