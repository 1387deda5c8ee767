package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
)

// Limits of a configuration on a page.
const (
	maxSettings  = 400 // keys
	maxValueText = 400 // bytes of a value
	shortText    = 60  // letters of a value in a column
	maxNesting   = 16  // of objects in a value: each level is read once more
)

// settingLine is a setting, with the whole value as its title if Value is a part of it.
type settingLine struct{ Name, Value, Title string }

// specOf returns a pipeline at a revision; false if there is none, or if it can't be read.
func (c *Console) specOf(ctx context.Context, name string, number uint64) (pipeline.Pipeline, bool) {
	if number == 0 {
		return pipeline.Pipeline{}, false
	}
	p, err := c.model.Pipeline(ctx, name, number)
	if err != nil || p.Err != nil {
		c.opts.Logger.Info("revision of a pipeline not read", "pipeline", name, "revision", number, "error", err)
		return p.Spec, false
	}
	return p.Spec, true
}

// addConfiguration adds what a run is made with: its pipeline, the settings that its module
// reported, and where it ran.
func (c *Console) addConfiguration(ctx context.Context, view *runView) {
	spec, known := c.specOf(ctx, view.Pipeline, view.Revision)
	add := func(name, value, title string) {
		if value != "" && value != "0" {
			view.Environment = append(view.Environment, settingLine{name, value, title})
		}
	}
	if known {
		view.Config, _ = spec.Lines() // it has been read
		add("Module", spec.Module.Path, "")
	}
	if t := view.Trained; t != nil {
		all := map[string]string{}
		addSettings(all, t)
		view.Settings = sorted(all)
		add("Code", chart.ShortDigest(t.Module), t.Module)
		add("Execution", chart.ShortDigest(t.Execution), t.Execution)
		add("Base model", modelName(t.BaseModel), t.BaseModel)
		add("Attempts", strconv.Itoa(t.Attempts), "")
		if made, err := c.madeAt(ctx, t.Model.URI); err == nil {
			view.Environment = append(view.Environment, environmentOf(made)...)
		} else if !errors.Is(err, events.ErrNotFound) {
			c.opts.Logger.Info("record of a model not read", "model", t.Model.URI, "error", err)
		}
	}
	if w := view.Worker; w != nil && view.Trained == nil {
		add("Host", plain(w.Host), "")
		add("Worker", plain(w.ID), "")
		add("Stoker", plain(w.Version), "")
		add("GPUs of the worker", plain(strings.Join(w.GPUs, ", ")), "")
	}
	if known {
		r := spec.Trainer.Resources
		add("Class", r.Class, "")
		add("Strategy", r.Strategy, "")
		if r.Workers > 1 {
			add("Processes", strconv.Itoa(r.Workers), "")
		}
		if view.Trained == nil {
			add("Seed", fmt.Sprint(spec.Trainer.Seed), "")
		}
	}
	if at := slices.IndexFunc(view.Settings, func(one settingLine) bool { return one.Name == "seed" }); at >= 0 {
		view.Environment = append(view.Environment, settingLine{"Seed", view.Settings[at].Value, ""})
	}
}

// madeAt returns how Stoker made an artifact, which never changes.
func (c *Console) madeAt(ctx context.Context, address string) (lineage.Made, error) {
	if known, there := c.made.Get(address); there {
		return known, nil
	}
	if _, err := c.ours(address); err != nil {
		return lineage.Made{}, fmt.Errorf("%w: %w", err, events.ErrNotFound)
	}
	made, err := lineage.MadeAt(ctx, c.opts.Store, address)
	if err == nil {
		c.made.Put(address, made)
	}
	return made, err
}

// environmentOf returns where an artifact was made, as far as its record says.
func environmentOf(made lineage.Made) (list []settingLine) {
	e := made.Environment
	if e == nil {
		return nil
	}
	for _, line := range []nameValue{
		{"Host", e.Host}, {"Worker", e.Worker}, {"Image", e.Image}, {"Stoker", e.Stoker}, {"Platform", e.Platform}, {"Python", e.Python},
		{"TensorFlow", e.TensorFlow}, {"Keras", e.Keras}, {"GPU", e.GPU}, {"GPUs that it could use", strings.Join(e.GPUs, ", ")},
	} {
		if text := strings.ToValidUTF8(line.Value[:min(len(line.Value), maxValueText)], ""); text != "" {
			list = append(list, valueOf(line.Name, text))
		}
	}
	return list
}

// flattenJSON adds the values of an object by the paths of their keys. A list is one value, and so
// is an object that is nested deeper than maxNesting.
func flattenJSON(into map[string]string, path string, text json.RawMessage) {
	flattenLevel(into, path, text, 0)
}

func flattenLevel(into map[string]string, path string, text json.RawMessage, level int) {
	var mapping map[string]json.RawMessage
	if len(text) == 0 || len(into) >= maxSettings {
		return
	}
	if text[0] == '{' && level <= maxNesting && json.Unmarshal(text, &mapping) == nil && (len(mapping) > 0 || path == "") {
		for _, name := range slices.Sorted(maps.Keys(mapping)) {
			inner := name
			if path != "" {
				inner = path + "." + name
			}
			flattenLevel(into, inner, mapping[name], level+1)
		}
		return
	}
	var word string
	if json.Unmarshal(text, &word) != nil {
		word = strings.ReplaceAll(string(text), ",", ", ")
	}
	into[path[:min(len(path), maxValueText)]] = strings.ToValidUTF8(word[:min(len(word), maxValueText)], "")
}

// sorted returns a table of values by name; long ones are cut, and whole in the title.
func sorted(values map[string]string) (list []settingLine) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, valueOf(name, values[name]))
	}
	return list
}

func valueOf(name, value string) settingLine {
	if letters := []rune(value); len(letters) > shortText {
		return settingLine{name, string(letters[:shortText-1]) + "…", value}
	}
	return settingLine{Name: name, Value: value}
}

// settingsOf returns what a run is made with, by key: the trainer's part of its pipeline, what its
// module reports, and the hyperparameters of a search. The later ones replace the earlier ones.
func (c *Console) settingsOf(ctx context.Context, k key, revision uint64, over bool) map[string]string {
	if known, there := c.configured.Get(k); there {
		return known
	}
	all := map[string]string{}
	if spec, known := c.specOf(ctx, k.Pipeline, revision); known {
		all["revision"] = strconv.FormatUint(revision, 10)
		if text, err := spec.Masked(); err == nil {
			flattenJSON(all, "", text)
		}
		all = trainerKeys(all)
	}
	logged, err := c.readLog(ctx, k)
	if err != nil {
		return all
	}
	if t := logged.Timeline.Trained(); t != nil {
		addReported(all, t)
	}
	if over {
		c.configured.Put(k, all)
	}
	return all
}

// trainerKeys returns the values of a pipeline's trainer, by the keys that its module knows.
func trainerKeys(all map[string]string) map[string]string {
	kept := map[string]string{}
	for path, value := range all {
		rest, trainer := strings.CutPrefix(path, "trainer.")
		if trainer || path == "revision" || path == "module" {
			kept[strings.TrimPrefix(rest, "custom_config.")] = value
		}
	}
	return kept
}

// addSettings adds what a module reports to have trained with.
func addSettings(all map[string]string, t *events.ModelTrained) {
	if len(t.Settings) > 0 {
		flattenJSON(all, "", mask.JSON(t.Settings))
	}
}

func addReported(all map[string]string, t *events.ModelTrained) {
	addSettings(all, t)
	if text, err := json.Marshal(t.Hyperparameters); err == nil && len(t.Hyperparameters) > 0 {
		flattenJSON(all, "", mask.JSON(text))
	}
	all["code"] = chart.ShortDigest(t.Module)
	for i, input := range t.Inputs {
		if i < 8 {
			all["input "+input.Type] = runs.FirstLine(input.URI)
		}
	}
}
