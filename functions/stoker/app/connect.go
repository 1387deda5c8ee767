package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/target"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/backend"
)

// Link is a connection to the bus and the store of one Stoker.
type Link struct {
	Bus   *jetstream.Bus
	Store storage.Store
	Root  storage.Ref
}

// WithBus connects only to the bus while do runs.
func (a *App) WithBus(ctx context.Context, do func(context.Context, events.Bus) error) error {
	return a.WithJetStream(ctx, func(ctx context.Context, bus *jetstream.Bus) error { return do(ctx, bus) })
}

// WithJetStream is WithBus for commands that need JetStream itself.
func (a *App) WithJetStream(ctx context.Context, do func(context.Context, *jetstream.Bus) error) error {
	at, err := a.Target()
	if err != nil {
		return err
	}
	if at.Bus.Selected && !at.IsLocal {
		fmt.Fprintf(a.Notes(), "bus %s (%s)\n", at.BusName(), at.Bus.From)
	}
	bus, err := jetstream.Connect(ctx, at.Bus.URL, at.BusOptions(a.Logger()))
	if err != nil {
		return at.Away(err)
	}
	defer bus.Close()
	return do(ctx, bus)
}

// WithStore opens only the store while do runs. root is the place of artifacts.
func (a *App) WithStore(ctx context.Context, do func(ctx context.Context, store storage.Store, root storage.Ref) error) error {
	at, err := a.StoreTarget()
	if err != nil {
		return err
	}
	access, err := at.Store()
	if err != nil {
		return exit.Usage(err)
	}
	store, err := backend.Open(ctx, access)
	if err != nil {
		return exit.Unreachable(fmt.Errorf("object store: %w", err))
	}
	defer store.Close()
	if err := store.Trusted(ctx); err != nil {
		return target.WithStoreHelp(fmt.Errorf("object store %s: %w", access.Endpoint, err))
	}
	return target.WithStoreHelp(do(ctx, store, at.Root))
}

// WithLink connects to both while do runs.
func (a *App) WithLink(ctx context.Context, do func(context.Context, Link) error) error {
	return a.WithStore(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) error {
		return a.WithJetStream(ctx, func(ctx context.Context, bus *jetstream.Bus) error {
			return do(ctx, Link{Bus: bus, Store: store, Root: root})
		})
	})
}

// SayStarted prints which bus a long-running command serves, and how.
func (a *App) SayStarted(what string, how ...string) {
	if at, err := a.Target(); err == nil {
		fmt.Fprintf(a.Notes(), "stoker %s: %s\n", what, strings.Join(append([]string{"bus " + at.BusName()}, how...), ", "))
	}
}

// Target returns the Stoker that the settings select.
func (a *App) Target() (target.Target, error) {
	found, err := a.Settings()
	if err != nil {
		return target.Target{}, err
	}
	return target.Find(a.targets(found))
}

// StoreTarget is Target for commands that need only the store.
func (a *App) StoreTarget() (target.Target, error) {
	found, err := a.Settings()
	if err != nil {
		return target.Target{}, err
	}
	return target.FindStore(a.targets(found))
}

func (a *App) targets(found *settings.Settings) target.Sources {
	return target.Sources{Settings: found, DataDir: a.DataDir, Up: a.Command("up")}
}

// NoPipeline returns the error for a pipeline that is not applied, with a similar name if there is
// one.
func (a *App) NoPipeline(ctx context.Context, bus runs.Source, name string) error {
	return exit.NotFound(fmt.Errorf("no pipeline %s is applied%s; `%s` lists them", name, a.SimilarPipeline(ctx, bus, name), a.Command("pipelines list")))
}

// NoneOf returns the note for a list without runs, models or studies: perhaps its pipeline is not
// applied.
func (a *App) NoneOf(ctx context.Context, bus runs.Source, things, pipeline string) string {
	if pipeline == "" {
		return "no " + things
	}
	known, err := runs.Pipelines(ctx, bus)
	if err == nil && !slices.Contains(known, pipeline) {
		return fmt.Sprintf("no %s: no pipeline %s is applied%s", things, pipeline, spelling.Suggestion(pipeline, known))
	}
	return fmt.Sprintf("no %s of pipeline %s", things, pipeline)
}

// SimilarPipeline returns, for the end of an error, the pipeline that was probably meant by a name;
// "" if there is none, or if name is one.
func (a *App) SimilarPipeline(ctx context.Context, bus runs.Source, name string) string {
	known, err := runs.Pipelines(ctx, bus)
	if err != nil || slices.Contains(known, name) { // only a hint: errors are ignored
		return ""
	}
	if pipeline, _, isRun := strings.Cut(name, "/"); isRun && slices.Contains(known, pipeline) {
		return "; did you mean " + pipeline + "?"
	}
	return spelling.Suggestion(name, known)
}

// Inputs returns the places that the settings name, separated by commas.
func (a *App) Inputs() (places []storage.Ref, err error) {
	found, err := a.Settings()
	if err != nil {
		return nil, err
	}
	named := found.Value(settings.Inputs)
	for place := range strings.SplitSeq(named.Text, ",") {
		if place = strings.TrimSpace(place); place == "" {
			continue
		}
		ref, err := storage.ParseRef(place)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("inputs (%s): %w", named.From, err))
		}
		places = append(places, ref)
	}
	return places, nil
}

// SecretFiles returns the files with credentials that the settings name, and those of the local
// stack.
func (a *App) SecretFiles() ([]string, error) {
	found, err := a.Settings()
	if err != nil {
		return nil, err
	}
	files := []string{found.File}
	for _, key := range []settings.Key{settings.BusCreds, settings.BusNKey, settings.BusKey} {
		files = append(files, found.Value(key).Text)
	}
	data, err := filepath.Abs(found.Value(settings.Data).Text)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files {
		if file == "" {
			continue
		}
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		all = append(all, file)
	}
	return append(all, local.Secrets(data)...), nil
}
