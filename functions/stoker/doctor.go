package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/doctor"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/guest/python"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// doctorFlags say what is looked at, and for how long.
type doctorFlags struct {
	quick   bool
	limit   time.Duration
	monitor string
	roleFlags
}

func newDoctor(app *app) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check bus, streams, store, clocks, Python, GPU and this machine, and say what to do",
		Long: "Looks at what commands and workers would use with the same settings, here: the bus and what is defined on it, the store (an\n" +
			"object is written and removed), both clocks, the Python environment with TensorFlow, the GPU, disk, limits and processor.\n" +
			"Nothing is changed. A line each: ok, warning or fault, with what helps. The exit status is 1 where there is a fault.\n\n" +
			"With --role, or where answers are heard below _INBOX.<role>, the bus is asked for each thing that the role does whether it may:\n" +
			"see `stoker access`.",
		Example: "  stoker doctor\n  stoker doctor --context prod --profile training --quick -o json\n  stoker doctor --quick --role worker --class gpu",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit <= 0 {
				return exit.Usage(fmt.Errorf("--limit %s: expected more than 0s", f.limit))
			}
			checks, err := app.checks(f)
			if err != nil {
				return err
			}
			return app.examine(cmd.Context(), checks, f.limit)
		},
	}
	cmd.Flags().BoolVar(&f.quick, "quick", false, "leave out what takes seconds: importing TensorFlow, asking for a GPU")
	cmd.Flags().StringVar(&f.monitor, "nats-monitor", os.Getenv("NATS_MONITOR"), "monitoring endpoint of a NATS server, HOST:PORT, to ask how it writes (NATS_MONITOR)")
	cmd.Flags().DurationVar(&f.limit, "limit", 2*time.Minute, "how long one check may take")
	f.add(cmd.Flags())
	return cmd
}

// checks are what is looked at. Those of other packages are added here.
func (a *app) checks(f doctorFlags) ([]doctor.Check, error) {
	found, err := a.settings()
	if err != nil {
		return nil, err
	}
	cache, err := moduleCache()
	if err != nil {
		return nil, err
	}
	checks := []doctor.Check{
		a.checkSettings(found), doctor.Secrets("settings file", secretFile(found)), a.checkBus(), doctor.Durable(f.monitor), doctor.Store(a.withStore),
		doctor.Processor(), doctor.Files(), doctor.Modules(), doctor.Space("jobs", os.TempDir()), doctor.Space("modules", cache),
	}
	if at, err := a.target(); err == nil && at.IsLocal {
		checks = append(checks, doctor.Space("data", a.dataDir))
	}
	asked, err := a.checkRole(f.roleFlags)
	if err != nil {
		return nil, err
	}
	checks = append(checks, asked...)
	if f.quick {
		return checks, nil
	}
	gpu := func(context.Context) (string, error) { return guest.GPU() }
	return append(checks, doctor.Python(python.Options{Default: os.Getenv(guest.PythonEnv)}), doctor.GPU(gpu)), nil
}

// checkSettings says which servers are meant, and why.
func (a *app) checkSettings(found *settings.Settings) doctor.Check {
	return doctor.Func("settings", func(context.Context) []doctor.Finding {
		if _, err := found.Values(); err != nil {
			return []doctor.Finding{doctor.Wrong("mend it; `stoker config` shows every setting", "%v", err)}
		}
		bus, store := a.places()
		return []doctor.Finding{doctor.Fine("bus %s (%s), store %s (%s)", dash(bus.Address), bus.Why, dash(store.Address), store.Why)}
	})
}

// secretFile is the configuration file where it holds a secret; else "".
func secretFile(found *settings.Settings) string {
	values, err := found.Values()
	if err != nil {
		return ""
	}
	for _, v := range values {
		if v.Secret && found.File != "" && strings.HasPrefix(v.From, found.File+":") {
			return found.File
		}
	}
	return ""
}

func (a *app) checkBus() doctor.Check {
	return doctor.Bus(func(ctx context.Context) (jetstream.Surveyed, error) {
		at, err := a.target()
		if err != nil {
			return jetstream.Surveyed{}, err
		}
		return jetstream.Survey(ctx, at.Bus.URL, at.BusOptions(a.logger()))
	}, func(err error) string {
		at, missing := a.target()
		if missing == nil && !at.IsLocal {
			return at.Help(err)
		}
		return "start `" + a.command("up") + "`, or name a server: --nats (NATS_URL), --context (NATS_CONTEXT)"
	})
}

// diagnosis is what `stoker doctor` reports to programs.
type diagnosis struct {
	Faults   int              `json:"faults"`
	Findings []doctor.Finding `json:"findings"`
}

// examine prints each finding as it comes, or all of them for programs.
func (a *app) examine(ctx context.Context, checks []doctor.Check, limit time.Duration) error {
	d := diagnosis{Findings: []doctor.Finding{}}
	d.Faults = doctor.Examine(ctx, limit, checks, func(f doctor.Finding) {
		d.Findings = append(d.Findings, f)
		if !a.forPrograms() {
			findingLine(a.stdout, f)
		}
	})
	if a.forPrograms() {
		if err := a.print(d, nil); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case d.Faults == 1:
		return errors.New("1 fault")
	case d.Faults > 0:
		return fmt.Errorf("%d faults", d.Faults)
	}
	return nil
}

// findingLine aligns what doctor prints as it comes, which no table could.
func findingLine(w io.Writer, f doctor.Finding) {
	const levels, checks = 9, 22 // columns
	fmt.Fprintf(w, "%-*s%-*s %s\n", levels, f.Level, checks, f.Check, terminal.Line(runs.FirstLine(f.Found)))
	if f.Do != "" && f.Level != doctor.OK {
		fmt.Fprintf(w, "%-*s -> %s\n", levels+checks, "", terminal.Line(runs.FirstLine(f.Do)))
	}
}
