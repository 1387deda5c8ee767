package admin

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// configured is the result of `stoker config`.
type configured struct {
	File     string        `json:"file,omitempty"` // the configuration file, if there is one
	Settings []settingLine `json:"settings"`
	Bus      place         `json:"bus"`
	Store    place         `json:"store"`
}

// settingLine is one setting. The value of a secret is left out.
type settingLine struct {
	Key   settings.Key `json:"key"`
	Value string       `json:"value"`
	From  string       `json:"from,omitempty"`
}

// place is a server that commands use, and which setting names it.
type place struct {
	Address string `json:"address,omitempty"`
	Why     string `json:"why"`
}

func newConfig(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: app.Operate,
		Annotations: app.Info{Role: app.NoRole, Output: app.Object,
			Always: "settings bus store", Optional: "file",
		}.Annotations(),
		Short: "Show the settings and their sources",
		Long: "Settings come from flags, the environment, the configuration file and defaults, in this order. The file is\n" +
			"config.yaml in $XDG_CONFIG_HOME/stoker (~/.config/stoker), or the file that --config-file or STOKER_CONFIG names:\n\n" +
			"  output: json\n" +
			"  root: s3://models\n" +
			"  nats:\n" +
			"    context: prod                # of the nats tool; or url, creds, nkey, cert, key, ca, ...\n" +
			"  store:\n" +
			"    profile: training            # of ~/.aws/config; or endpoint, region, access_key, ca, ...\n\n" +
			"The values of a nats context (~/.config/nats/context/NAME.json) or an AWS profile rank directly below the setting that names\n" +
			"it: a context named by --context overrides NATS_URL, one named by NATS_CONTEXT does not. If no bus is named, commands use the\n" +
			"local stack of the data folder, or else the context that `nats context select` has selected.\n\n" +
			"Secrets are never shown.",
		Example: "  stoker config\n  stoker config -o json | jq '.settings[] | select(.key == \"nats.url\")'",
		Args:    app.NoArguments,
		RunE:    func(*cobra.Command, []string) error { return showConfig(a) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "show", Annotations: app.Info{Role: app.NoRole}.Annotations(), Short: "Show the settings and their sources", Args: app.NoArguments,
		Example: "  stoker config show --context lab",
		RunE:    func(*cobra.Command, []string) error { return showConfig(a) },
	})
	return cmd
}

func showConfig(a *app.App) error {
	found, err := a.Settings()
	if err != nil {
		return err
	}
	values, err := found.Values()
	if err != nil {
		return exit.Usage(err)
	}
	c := configured{File: found.File}
	for _, v := range values {
		c.Settings = append(c.Settings, settingLine{v.Key, v.Shown(), v.From})
	}
	c.Bus, c.Store = places(a)
	return a.Print(c, c.table)
}

func (c configured) table(w io.Writer) {
	terminal.Row(w, "SETTING", "VALUE", "FROM")
	for _, s := range c.Settings {
		terminal.Row(w, s.Key, dash(s.Value), s.From)
	}
	fmt.Fprintln(w)
	terminal.Row(w, "bus", dash(c.Bus.Address), c.Bus.Why)
	terminal.Row(w, "store", dash(c.Store.Address), c.Store.Why)
}

// dash replaces an empty text.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// places returns the servers that commands would use.
func places(a *app.App) (bus, store place) {
	at, err := a.Target()
	switch {
	case err != nil:
		bus.Why = err.Error()
	case at.IsLocal:
		bus = place{at.BusName(), "the local stack on " + a.DataDir}
	default:
		bus = place{at.BusName(), at.Bus.From}
	}
	if at, err = a.StoreTarget(); err != nil {
		return bus, place{Why: err.Error()}
	}
	config, err := at.Store()
	if err != nil {
		return bus, place{Why: err.Error()}
	}
	if at.IsLocal {
		return bus, place{config.Endpoint, "the local stack on " + a.DataDir}
	}
	named, err := a.Found.Store() // again, for the setting that names it
	if err != nil {
		return bus, place{Why: err.Error()}
	}
	return bus, place{config.Endpoint, named.From}
}
