package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/integrate/openlineage"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// exportFlags are the flags of `stoker lineage export`.
type exportFlags struct {
	to, pipeline, name, namespace string
	listen                        *string
	from                          uint64
	follow                        bool
}

func NewLineageExport(a *app.App) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:         "export",
		Annotations: app.Info{Role: access.Exporter}.Annotations(),
		Short:       "Export trainings and searches as OpenLineage events",
		Long: "Converts the event log to OpenLineage run events (spec 2-0-2), and sends them to a receiver such as Marquez, or writes them as\n" +
			"lines of JSON. Without --follow it exports the whole log and ends. With --follow it runs until it is interrupted, and\n" +
			"exports new events from its first start on, and runs while they are running; the bus keeps its position. Jobs never wait\n" +
			"for it. An event of the log always gives the same OpenLineage events.\n\n" +
			"The receiver is --to, else OPENLINEAGE_URL (with OPENLINEAGE_ENDPOINT, OPENLINEAGE_API_KEY), or OPENLINEAGE__TRANSPORT__TYPE=file with\n" +
			"OPENLINEAGE__TRANSPORT__LOG_FILE_PATH, else standard output. OPENLINEAGE_NAMESPACE is the namespace of jobs, OPENLINEAGE_DISABLED=true sends nothing.\n" +
			"The configuration file has the same settings under openlineage; `stoker config` shows the effective ones.",
		Example: "  stoker lineage export > events.jsonl\n" +
			"  OPENLINEAGE_URL=http://marquez:5000 stoker lineage export --follow",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.follow && f.from > 1 {
				return exit.Usage(errors.New("--from applies only without --follow, which continues at its position on the bus"))
			}
			if !f.follow && *f.listen != "" {
				return exit.Usage(errors.New("--listen needs --follow: otherwise the command ends after the export"))
			}
			if err := events.CheckName("--name", f.name); err != nil {
				return exit.Usage(err)
			}
			config, err := f.config(a.Found)
			if err != nil || config.Disabled {
				return err
			}
			if f.follow {
				return followLineage(cmd.Context(), a, config, f)
			}
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error { return exportLineage(ctx, a, l, config, f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "receiver's address, or a file to append to; -: standard output")
	flags.StringVar(&f.namespace, "namespace", "", "namespace of jobs (OPENLINEAGE_NAMESPACE); default: stoker")
	a.AddPipelineFlag(cmd, &f.pipeline, "only this pipeline")
	flags.Uint64Var(&f.from, "from", 1, "sequence of the first event to export")
	flags.BoolVar(&f.follow, "follow", false, "keep exporting new events until interrupted")
	flags.StringVar(&f.name, "name", "openlineage", "with --follow: name of its position on the bus; one for each receiver")
	f.listen = listenFlag(cmd)
	return cmd
}

// lookup returns the environment, completed by the configuration file.
func (exportFlags) lookup(found *settings.Settings) func(string) string {
	filed := map[string]settings.Key{
		"OPENLINEAGE_URL": settings.LineageURL, "OPENLINEAGE_ENDPOINT": settings.LineageEndpoint, "OPENLINEAGE_API_KEY": settings.LineageKey,
		"OPENLINEAGE_NAMESPACE": settings.LineageNamespace, "OPENLINEAGE_DISABLED": settings.LineageDisabled,
	}
	return func(name string) string {
		key, known := filed[name]
		if !known {
			return os.Getenv(name)
		}
		return cmp.Or(os.Getenv(name), found.Value(key).Text)
	}
}

// config returns where events are sent: flags before the environment before the file.
func (f exportFlags) config(found *settings.Settings) (c openlineage.Config, err error) {
	if c, err = openlineage.FromEnviron(f.lookup(found)); err != nil {
		return c, exit.Usage(err)
	}
	if f.namespace != "" {
		c.Namespace = f.namespace
	}
	switch {
	case f.to == "":
	case f.to == "-":
		c.URL, c.File, c.Console = "", "", true
	case strings.HasPrefix(f.to, "http://"), strings.HasPrefix(f.to, "https://"):
		c.File = ""
		if c.URL, err = openlineage.Receiver(f.to, f.lookup(found)("OPENLINEAGE_ENDPOINT")); err != nil {
			return c, exit.Usage(fmt.Errorf("--to: %w", err))
		}
	default:
		c.URL, c.File = "", f.to
	}
	return c, nil
}

// followLineage runs until it is interrupted. It needs the bus, and the store for the inputs of
// models.
func followLineage(ctx context.Context, a *app.App, c openlineage.Config, f exportFlags) error {
	return operate(ctx, a, "lineage-export", *f.listen, func(ctx context.Context, o *operated) error {
		return a.WithLink(ctx, func(ctx context.Context, l app.Link) error {
			sender, closer, err := newSender(a, c)
			if err != nil {
				return err
			}
			defer closer.Close()
			x := newExporter(a, l, c, f, sender)
			a.SayStarted("lineage export", "to "+whereTo(c))
			needs := asListener(l.Bus, func() (string, []string) { return f.name, []string{events.StreamEvents} })
			needs.needs["store"] = storeNeed(l.Store, l.Root)
			return o.while(ctx, needs, func(ctx context.Context) error { return x.Follow(ctx, f.name) })
		})
	})
}

func newExporter(a *app.App, l app.Link, c openlineage.Config, f exportFlags, sender openlineage.Sender) *openlineage.Exporter {
	return &openlineage.Exporter{
		Converter: openlineage.Converter{Namespace: c.Namespace, Version: a.Version},
		Bus:       l.Bus, Store: l.Store, Sender: sender, Pipeline: f.pipeline, Log: a.Logger(),
	}
}

// exportLineage exports the log.
func exportLineage(ctx context.Context, a *app.App, l app.Link, c openlineage.Config, f exportFlags) error {
	sender, closer, err := newSender(a, c)
	if err != nil {
		return err
	}
	defer closer.Close()
	x := newExporter(a, l, c, f, sender)
	sent, err := x.Replay(ctx, f.from)
	fmt.Fprintf(a.Notes(), "%d events sent to %s\n", sent, whereTo(c))
	if err != nil && c.URL != "" && ctx.Err() == nil {
		return exit.Unreachable(fmt.Errorf("%w; continue with --from", err))
	}
	return err
}

func whereTo(c openlineage.Config) string {
	switch {
	case c.URL != "":
		return c.URL
	case c.File != "":
		return c.File
	}
	return "standard output"
}

// newSender returns the receiver of the events, and what must be closed after it.
func newSender(a *app.App, c openlineage.Config) (openlineage.Sender, io.Closer, error) {
	switch {
	case c.URL != "":
		return openlineage.HTTP{URL: c.URL, APIKey: c.APIKey}, io.NopCloser(nil), nil
	case c.File != "":
		file, err := openlineage.OpenFile(c.File)
		if err != nil {
			return nil, nil, err
		}
		return openlineage.NewLines(file), file, nil
	}
	return openlineage.NewLines(a.Stdout.Data(terminal.JSON)), io.NopCloser(nil), nil
}
