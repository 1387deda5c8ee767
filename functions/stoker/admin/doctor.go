package admin

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
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/doctor"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// doctorFlags select the checks, and their time limit.
type doctorFlags struct {
	quick   bool
	limit   time.Duration
	monitor string
	roleFlags
}

func newDoctor(a *app.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: app.Start,
		Annotations: app.Info{Role: app.AnyRole, Output: app.Object, With: "--quick",
			Always: "faults findings",
		}.Annotations(),
		Short: "Check the bus, the store, Python and this machine",
		Long: "Checks everything that commands and workers use with the current settings: the bus and its streams, the store (an\n" +
			"object is written and removed), the clocks of both, the Python environment with TensorFlow, the GPU, disk, limits and processor.\n" +
			"It changes nothing. Each finding is one line: ok, warning or fault, with advice. The exit status is 1 if there is a fault.\n\n" +
			"With --role, or with the inbox prefix _INBOX.<role>, it also checks each permission that the role needs on the bus\n" +
			"(see `stoker access`), and of the store only what the role may use.",
		Example: "  stoker doctor\n  stoker doctor --context prod --profile training --quick -o json\n  stoker doctor --quick --role worker --class gpu",
		Args:    app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit <= 0 {
				return exit.Usage(fmt.Errorf("--limit %s: expected more than 0s", f.limit))
			}
			checks, err := checks(a, f)
			if err != nil {
				return err
			}
			return examine(cmd.Context(), a, checks, f.limit)
		},
	}
	cmd.Flags().BoolVar(&f.quick, "quick", false, "skip the slow checks: importing TensorFlow and finding a GPU")
	cmd.Flags().StringVar(&f.monitor, "nats-monitor", os.Getenv("NATS_MONITOR"), "HOST:PORT where a NATS server reports how it writes to disk (NATS_MONITOR)")
	cmd.Flags().DurationVar(&f.limit, "limit", 2*time.Minute, "time limit of each check")
	f.add(a, cmd)
	return cmd
}

// checks returns the checks of this command. Checks of other packages are added here.
func checks(a *app.App, f doctorFlags) ([]doctor.Check, error) {
	found, err := a.Settings()
	if err != nil {
		return nil, err
	}
	cache, err := modules.ModuleCache()
	if err != nil {
		return nil, err
	}
	store, permissions, err := checkRole(a, f.roleFlags)
	if err != nil {
		return nil, err
	}
	checks := []doctor.Check{
		checkSettings(a, found), doctor.Secrets("settings file", secretFile(found)), checkBus(a), doctor.Durable(f.monitor), store,
		doctor.Processor(), doctor.Files(), doctor.Modules(), doctor.Space("jobs", os.TempDir()), doctor.Space("modules", cache),
	}
	if at, err := a.Target(); err == nil && at.IsLocal {
		checks = append(checks, doctor.Space("data", a.DataDir))
	}
	checks = append(checks, permissions...)
	if f.quick {
		return checks, nil
	}
	gpu := func(context.Context) (string, error) { return runner.GPU() }
	return append(checks, doctor.Python(python.Options{Default: os.Getenv(runner.PythonEnv)}), doctor.GPU(gpu)), nil
}

// checkSettings reports which servers are selected, and by which settings.
func checkSettings(a *app.App, found *settings.Settings) doctor.Check {
	return doctor.Func("settings", func(context.Context) []doctor.Finding {
		if _, err := found.Values(); err != nil {
			return []doctor.Finding{doctor.Wrong("correct it; `stoker config` shows every setting", "%v", err)}
		}
		bus, store := places(a)
		return []doctor.Finding{doctor.Fine("bus %s (%s), store %s (%s)", dash(bus.Address), bus.Why, dash(store.Address), store.Why)}
	})
}

// secretFile returns the configuration file if it holds a secret; else "".
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

func checkBus(a *app.App) doctor.Check {
	return doctor.Bus(func(ctx context.Context) (jetstream.Surveyed, error) {
		at, err := a.Target()
		if err != nil {
			return jetstream.Surveyed{}, err
		}
		return jetstream.Survey(ctx, at.Bus.URL, at.BusOptions(a.Logger()))
	}, func(err error) string {
		at, missing := a.Target()
		if missing == nil && !at.IsLocal {
			return at.Help(err)
		}
		return "start `" + a.Command("up") + "`, or name a server: --nats (NATS_URL), --context (NATS_CONTEXT)"
	})
}

// diagnosis is the result of `stoker doctor` for programs.
type diagnosis struct {
	Faults   int              `json:"faults"`
	Findings []doctor.Finding `json:"findings"`
}

// examine prints each finding as soon as it is known, or all of them at the end for programs.
func examine(ctx context.Context, a *app.App, checks []doctor.Check, limit time.Duration) error {
	d := diagnosis{Findings: []doctor.Finding{}}
	d.Faults = doctor.Examine(ctx, limit, checks, func(f doctor.Finding) {
		d.Findings = append(d.Findings, f)
		if !a.ForPrograms() {
			findingLine(a.Stdout, f)
		}
	})
	if a.ForPrograms() {
		if err := a.Print(d, nil); err != nil {
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

// findingLine aligns the output of doctor line by line, which a table can't do.
func findingLine(w io.Writer, f doctor.Finding) {
	const levels, checks = 9, 22 // columns
	fmt.Fprintf(w, "%-*s%-*s %s\n", levels, f.Level, checks, f.Check, terminal.Line(runs.FirstLine(f.Found)))
	if f.Do != "" && f.Level != doctor.OK {
		fmt.Fprintf(w, "%-*s -> %s\n", levels+checks, "", terminal.Line(runs.FirstLine(f.Do)))
	}
}

// roleFlags select the role whose permissions are checked.
type roleFlags struct {
	role                      string
	pipelines, classes, names []string
}

func (f *roleFlags) add(a *app.App, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", "", "check the permissions of this role; default: the one in the inbox prefix")
	a.AddPipelinesFlag(cmd, &f.pipelines, "of role upstream: pipelines whose events it may publish")
	flags.StringSliceVar(&f.classes, "class", nil, "of role worker: resource classes whose jobs it may claim (default any)")
	flags.StringSliceVar(&f.names, "name", nil, "of role notifier or exporter: the --name of its command (default that command's)")
}

// roleOf returns the role that is given, or else the one in the inbox prefix; "" if neither is.
func roleOf(f roleFlags, inbox string) (access.Role, error) {
	if f.role != "" {
		role, err := access.ParseRole(f.role)
		if err != nil {
			return "", exit.Usage(err)
		}
		return role, nil
	}
	name, ours := strings.CutPrefix(inbox, "_INBOX.")
	if role, err := access.ParseRole(name); ours && err == nil {
		return role, nil
	}
	return "", nil
}

// checkRole returns the checks of the store and of the permissions on the bus, both for the role.
// Without one, the first is of the whole store, and there are no others.
func checkRole(a *app.App, f roleFlags) (store doctor.Check, permissions []doctor.Check, err error) {
	store = doctor.Store(a.WithStore)
	at, err := a.Target()
	if err != nil {
		return store, nil, nil // its own check reports errors of the bus
	}
	role, err := roleOf(f, at.Bus.InboxPrefix)
	if err != nil || role == "" {
		return store, nil, err
	}
	scope := access.Scope{Pipelines: f.pipelines, Classes: f.classes, Names: f.names, Inbox: at.Bus.InboxPrefix}
	if _, err := role.Needs(scope); err != nil && f.role != "" {
		return store, nil, exit.Usage(err)
	}
	return doctor.StoreOf(role, a.WithStore), []doctor.Check{doctor.Role(role, scope, func(ctx context.Context, asked jetstream.Permits) (jetstream.Permits, error) {
		return jetstream.Refused(ctx, at.Bus.URL, at.BusOptions(a.Logger()), asked)
	})}, nil
}
