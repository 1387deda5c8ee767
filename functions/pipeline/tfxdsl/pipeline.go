package tfxdsl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// translation collects the result of translating a Trainer and a Tuner.
type translation struct {
	r        *Recorded
	trainer  map[string]any
	tuner    map[string]any
	module   map[string]any
	warnings []string
}

// Pipeline returns the pipeline file: YAML that pipeline.Parse accepts, with a comment for each
// argument that it can't express. If there can be no pipeline, the error is an *Error that names
// the argument and its line.
func (r *Recorded) Pipeline() ([]byte, error) {
	t := &translation{r: r, trainer: map[string]any{}, module: map[string]any{}}
	trainers, tuners := r.find("Trainer"), r.find("Tuner")
	switch {
	case len(trainers)+len(tuners) == 0:
		return nil, &Error{File: r.path, Err: errors.New("no Trainer(...) and no Tuner(...) of tfx was called: give the file that is run, not one that only defines functions")}
	case len(trainers) > 1:
		return nil, &Error{File: r.path, Line: trainers[1].Line, Err: fmt.Errorf("a second Trainer(...); the first is at line %d: one pipeline trains one model, split the file", trainers[0].Line)}
	case len(tuners) > 1:
		return nil, &Error{File: r.path, Line: tuners[1].Line, Err: fmt.Errorf("a second Tuner(...); the first is at line %d", tuners[0].Line)}
	}
	if r.failed != nil {
		t.warn(r.failed.Line, "the file stopped here, after its %s: %s", slices.Concat(trainers, tuners)[0].base(), r.failed.Message)
	}
	var err error
	if len(trainers) > 0 {
		err = t.train(trainers[0])
	} else {
		err = t.trainAs(tuners[0])
	}
	if err != nil {
		return nil, err
	}
	if len(tuners) == 1 {
		if err := t.tune(tuners[0]); err != nil {
			return nil, err
		}
	}
	return t.text()
}

func (t *translation) warn(line int, format string, args ...any) {
	text := shownSafely(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	if !slices.Contains(t.warnings, text) {
		t.warnings = append(t.warnings, text)
	}
}

func (t *translation) fail(c call, format string, args ...any) error {
	return &Error{File: t.r.path, Line: c.Line, Err: fmt.Errorf("%s: %w", c.base(), fmt.Errorf(format, args...))}
}

// sharedArguments are the arguments that Tuner and Trainer have in common, with the same meaning.
var sharedArguments = []string{"base_model", "custom_config", "eval_args", "examples", "module_file", "schema", "train_args", "transform_graph"}

// trainAs fills the trainer from a Tuner's arguments.
func (t *translation) trainAs(tuner call) error {
	t.warn(tuner.Line, "Tuner: no Trainer(...) was called: the trainer is filled from the Tuner, and trains with the best hyperparameters; the module needs a run_fn too")
	shared := maps.Clone(tuner.Kwargs)
	maps.DeleteFunc(shared, func(name string, _ any) bool { return !slices.Contains(sharedArguments, name) })
	tuner.Kwargs = shared
	if err := t.train(tuner); err != nil {
		return err
	}
	t.trainer["hyperparameters"] = pipeline.HyperparametersRun
	t.trainer["wait_for"] = append(t.trainer["wait_for"].([]string), pipeline.WaitHParams)
	return nil
}

// arguments returns the arguments by name; the first of Trainer and Tuner may be positional. The
// value of a RuntimeParameter is its default.
func (t *translation) arguments(c call) (map[string]any, error) {
	all := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.Kwargs)) {
		value := c.Kwargs[name]
		if from, ok := t.called(value); ok && from.base() == "RuntimeParameter" {
			if value = from.Kwargs["default"]; value == nil {
				return nil, t.fail(c, "%s is a RuntimeParameter without a default, which is not known before the pipeline runs", name)
			}
			t.warn(c.Line, "%s: %s is a RuntimeParameter: its default is taken", c.base(), name)
		}
		if value != nil {
			all[name] = value
		}
	}
	if file, _ := all["module_file"].(string); file != "" && slices.ContainsFunc(c.Gone, func(gone string) bool { return file == gone || strings.HasPrefix(file, gone+"/") }) {
		return nil, t.fail(c, "module_file %s is in a temporary folder that the pipeline's file made and that is removed: write the module to a file that stays", file)
	}
	for _, gone := range c.Gone {
		t.warn(c.Line, "%s: an argument names %s, a temporary file or folder that the pipeline's file made and that is removed", c.base(), gone)
	}
	if len(c.Args) > 1 {
		return nil, t.fail(c, "%d arguments without a name: name them, as in examples=...", len(c.Args))
	}
	if len(c.Args) == 1 {
		all["examples"] = c.Args[0]
	}
	return all, nil
}

func (t *translation) train(c call) error {
	args, err := t.arguments(c)
	if err != nil {
		return err
	}
	wait := []string{}
	examples := t.source(args["examples"])
	if args["transformed_examples"] != nil || examples == "Transform" {
		wait = append(wait, pipeline.WaitTransform)
	} else {
		wait = append(wait, pipeline.WaitExamples)
		if args["transform_graph"] != nil {
			wait = append(wait, pipeline.WaitTransform)
		}
	}
	t.trainer["hyperparameters"] = pipeline.HyperparametersNone
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := args[name]
		switch name {
		case "examples", "transformed_examples", "transform_graph", "schema", "statistics":
		case "module_file":
			err = t.path(c, name, value)
		case "run_fn", "trainer_fn":
			err = t.function(c, name, "run_fn", value)
		case "train_args", "eval_args":
			err = t.steps(c, t.trainer, name, value)
		case "custom_config":
			err = t.config(c, t.trainer, value)
		case "hyperparameters":
			wait = t.hyperparameters(c, value, wait)
		case "base_model", "base_models":
			err = t.baseModel(c, name, value)
		case "custom_executor_spec":
			t.executor(c, value)
		default:
			t.warn(c.Line, "%s: %s has no equivalent", c.base(), name)
		}
		if err != nil {
			return err
		}
	}
	t.trainer["wait_for"] = wait
	return nil
}

func (t *translation) tune(c call) error {
	args, err := t.arguments(c)
	if err != nil {
		return err
	}
	t.tuner = map[string]any{"when": "always"}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := args[name]
		switch name {
		case "examples", "transform_graph", "schema", "base_model":
		case "module_file":
			if own, ok := value.(string); ok && t.module["path"] != own {
				return t.fail(c, "module_file %s is not the Trainer's, %v: put both into one folder, and name the functions by run_fn and tuner_fn", own, t.module["path"])
			}
			err = t.path(c, name, value)
		case "tuner_fn":
			err = t.function(c, name, "tuner_fn", value)
		case "train_args", "eval_args":
			err = t.steps(c, t.tuner, name, value)
		case "tune_args":
			err = t.message(c, t.tuner, name, value, "num_parallel_trials")
		case "custom_config":
			err = t.config(c, t.tuner, value)
		case "custom_executor_spec":
			t.executor(c, value)
		default:
			t.warn(c.Line, "%s: %s has no equivalent", c.base(), name)
		}
		if err != nil {
			return err
		}
	}
	if t.trainer["hyperparameters"] == pipeline.HyperparametersNone {
		t.warn(c.Line, "Tuner: the Trainer does not take its best_hyperparameters: each run is tuned without effect")
	}
	return nil
}

// called returns the call behind a channel or a call's value.
func (t *translation) called(value any) (call, bool) {
	object, _ := value.(map[string]any)
	text, ok := object["of"].(json.Number)
	if !ok {
		text, ok = object["$call"].(json.Number)
	}
	number, err := strconv.Atoi(text.String())
	if !ok || err != nil || number < 0 || number >= len(t.r.Calls) {
		return call{}, false
	}
	return t.r.Calls[number], true
}

// source returns the component that a channel comes from.
func (t *translation) source(value any) string {
	c, _ := t.called(value)
	return c.base()
}

func (t *translation) path(c call, name string, value any) error {
	text, ok := value.(string)
	if !ok || text == "" {
		return t.fail(c, "%s is %s, which is not known before the pipeline runs: write the path there", name, shown(value))
	}
	t.module["path"] = text
	return nil
}

func (t *translation) function(c call, name, key string, value any) error {
	text, _ := value.(string)
	if name == "trainer_fn" {
		t.warn(c.Line, "Trainer: trainer_fn: Stoker calls trainer_fn without this argument")
		return nil
	}
	at := strings.LastIndex(text, ".")
	if at < 1 {
		return t.fail(c, "%s is %s: expected a dotted path like models.wide.run_fn", name, shown(value))
	}
	if t.module["path"] == nil { // a dotted path from the pipeline's folder
		parts := strings.Split(text[:at], ".")
		t.module["path"] = "./" + path.Join(parts[:len(parts)-1]...)
		t.warn(c.Line, "%s: %s: %s is taken for the folder of the file %s.py; of an installed package name its folder or wheel", c.base(), name, t.module["path"], parts[len(parts)-1])
		t.module[key] = parts[len(parts)-1] + "." + text[at+1:]
		return nil
	}
	parts := strings.Split(text, ".")
	t.module[key] = strings.Join(parts[max(0, len(parts)-2):], ".")
	return nil
}

func (t *translation) steps(c call, to map[string]any, name string, value any) error {
	return t.message(c, to, name, value, "num_steps", "splits")
}

// mapping returns a value that is a mapping, or the JSON of one, as a RuntimeParameter has for a
// message. It returns nil for others.
func mapping(value any) map[string]any {
	object, ok := value.(map[string]any)
	if text, is := value.(string); is {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber() // keeps integers
		ok = decoder.Decode(&object) == nil
	}
	if !ok {
		return nil
	}
	return object
}

// message reads the fields of a message like TrainArgs(num_steps=1), or of a mapping.
func (t *translation) message(c call, to map[string]any, name string, value any, fields ...string) error {
	given := mapping(value)
	if made, ok := t.called(value); ok {
		if given = made.Kwargs; len(made.Args) > 0 {
			return t.fail(c, "%s: %s has arguments without a name", name, made.base())
		}
	}
	if given == nil || given["$name"] != nil || given["$unknown"] != nil {
		return t.fail(c, "%s is %s: expected TFX's message, or a mapping of %s", name, shown(value), strings.Join(fields, " and "))
	}
	taken := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		switch v := given[field].(type) {
		case nil:
		case map[string]any:
			t.warn(c.Line, "%s: %s.%s is %s, which is not known before the pipeline runs", c.base(), name, field, shown(v))
		default:
			if !slices.Contains(fields, field) {
				t.warn(c.Line, "%s: %s.%s has no equivalent", c.base(), name, field)
				continue
			}
			taken[field] = v
		}
	}
	if len(taken) > 0 {
		to[name] = taken
	}
	return nil
}

func (t *translation) config(c call, to map[string]any, value any) error {
	config := mapping(value)
	if config == nil || config["$name"] != nil || config["$call"] != nil || config["$unknown"] != nil {
		return t.fail(c, "custom_config is %s: expected a mapping", shown(value))
	}
	kept := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		switch why := unknown(config[key]); {
		case strings.HasPrefix(key, "$name:"), strings.HasPrefix(key, "ai_platform_"), key == "remote_trials_working_dir", key == "ucaip_training_args":
			t.warn(c.Line, "%s: custom_config: %s is for cloud executors: trainer.resources says where a job runs", c.base(), strings.TrimPrefix(key, "$name:"))
		case why != "":
			t.warn(c.Line, "%s: custom_config: %s holds %s, which is not known before the pipeline runs", c.base(), key, why)
		default:
			kept[key] = config[key]
		}
	}
	if len(kept) > 0 {
		to["custom_config"] = kept
	}
	return nil
}

// unknown returns the part of a value that JSON can't express, "" for none.
func unknown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.HasPrefix(key, "$") {
				return shown(v)
			}
			if why := unknown(v[key]); why != "" {
				return why
			}
		}
	case []any:
		for _, one := range v {
			if why := unknown(one); why != "" {
				return why
			}
		}
	}
	return ""
}

func (t *translation) hyperparameters(c call, value any, wait []string) []string {
	from, _ := t.called(value)
	switch from.base() {
	case "Tuner":
		t.trainer["hyperparameters"] = pipeline.HyperparametersRun
		return append(wait, pipeline.WaitHParams)
	case "Importer", "ImporterNode":
		t.trainer["hyperparameters"] = pipeline.HyperparametersLatest
		t.warn(c.Line, "Trainer: hyperparameters: publish hparams.ready with %s once; each run takes the newest", shown(from.Kwargs["source_uri"]))
		return wait
	}
	t.trainer["hyperparameters"] = pipeline.HyperparametersLatest
	t.warn(c.Line, "Trainer: hyperparameters come from %s: publish hparams.ready; each run takes the newest", shown(value))
	return wait
}

func (t *translation) baseModel(c call, name string, value any) error {
	from, _ := t.called(value)
	switch from.base() {
	case "Resolver", "ResolverNode":
		strategy := from.Kwargs["strategy_class"]
		if strategy == nil {
			strategy = from.Kwargs["resolver_class"]
		}
		switch text := shown(strategy); {
		case strings.HasSuffix(text, "LatestArtifactStrategy"), strings.HasSuffix(text, "LatestArtifactsResolver"):
			t.trainer["base_model"] = pipeline.BaseModelLatest
		case strings.HasSuffix(text, "LatestBlessedModelStrategy"), strings.HasSuffix(text, "LatestBlessedModelResolver"):
			t.trainer["base_model"] = pipeline.BaseModelBlessed
		default:
			return t.fail(c, "%s: a Resolver with %s at line %d: expected LatestArtifactStrategy or LatestBlessedModelStrategy", name, text, from.Line)
		}
		return nil
	case "Importer", "ImporterNode":
		if address, _ := from.Kwargs["source_uri"].(string); strings.HasPrefix(address, "s3://") {
			t.trainer["base_model"] = address
			return nil
		}
		t.warn(from.Line, "Trainer: %s: %s is not in the store: `stoker upload` it, and name its address in trainer.base_model", name, shown(from.Kwargs["source_uri"]))
		return nil
	}
	return t.fail(c, "%s comes from %s: expected a Resolver of the latest (blessed) model, or an Importer", name, shown(value))
}

func (t *translation) executor(c call, value any) {
	text := shown(value)
	if made, ok := t.called(value); ok && len(made.Args)+len(made.Kwargs) > 0 {
		text = shown(made.Args)
		for _, v := range made.Kwargs {
			text = shown(v)
		}
	}
	if !strings.Contains(text, "GenericExecutor") {
		t.warn(c.Line, "%s: custom_executor_spec has no equivalent: module functions run as GenericExecutor runs them, trainer.resources says where", c.base())
	}
}

// shown returns a value for display.
func shown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range []string{"$name", "$unknown", "$channel"} {
			if name, ok := v[key].(string); ok {
				return name
			}
		}
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, shown(one))
		}
		return strings.Join(all, ", ")
	case nil:
		return "nothing"
	}
	text := fmt.Sprint(value)
	return text[:min(len(text), 200)]
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// name returns the pipeline's name, in the characters that pipelines allow.
func (t *translation) name() string {
	for _, c := range t.r.find("Pipeline") {
		given := c.Kwargs["pipeline_name"]
		if given == nil && len(c.Args) > 0 {
			given = c.Args[0]
		}
		if text, ok := given.(string); ok {
			return clean(text)
		}
	}
	return clean(strings.TrimSuffix(path.Base(strings.ReplaceAll(t.r.path, `\`, "/")), ".py"))
}

func clean(text string) string {
	text = strings.Trim(notName.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if text = strings.TrimRight(text[:min(len(text), 63)], "-"); text == "" {
		return "pipeline"
	}
	return text
}

// first returns the call of the Trainer, or of the Tuner if there is none.
func (t *translation) first() call { return slices.Concat(t.r.find("Trainer"), t.r.find("Tuner"))[0] }

func (t *translation) text() ([]byte, error) {
	if t.module["path"] == nil {
		return nil, t.fail(t.first(), "no module_file: expected the file with run_fn")
	}
	var out strings.Builder
	for _, warning := range t.warnings {
		fmt.Fprintf(&out, "# warning: %s\n", warning)
	}
	module := any(t.module)
	if len(t.module) == 1 {
		module = t.module["path"]
	}
	for _, part := range []struct {
		key   string
		value any
		skip  bool
	}{{"pipeline", t.name(), false}, {"module", module, false}, {"trainer", t.trainer, false}, {"tuner", t.tuner, t.tuner == nil}} {
		if part.skip {
			continue
		}
		text, err := json.Marshal(map[string]any{part.key: part.value})
		if err == nil {
			text, err = yaml.JSONToYAML(text) // keeps numbers as written
		}
		if err != nil {
			return nil, fmt.Errorf("write pipeline: %w", err)
		}
		out.Write(text)
	}
	if at := strings.IndexFunc(out.String(), acts); at >= 0 {
		bad, _ := utf8.DecodeRuneInString(out.String()[at:])
		return nil, t.fail(t.first(), "an argument, or one of a Tuner, holds the character %U, which acts on terminals or hides text: leave it out", bad)
	}
	if _, err := pipeline.Parse(t.r.path, []byte(out.String())); err != nil {
		return nil, fmt.Errorf("%s gives no valid pipeline: %w", t.r.path, err)
	}
	return []byte(out.String()), nil
}

// acts reports whether a character controls a terminal, ends a line for some YAML readers only, or
// changes the order in which text is displayed.
func acts(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// shownSafely returns text with such characters escaped.
func shownSafely(text string) string {
	var out strings.Builder
	for _, r := range text {
		if acts(r) {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Warnings returns the comments of the pipeline file.
func Warnings(text []byte) (warnings []string) {
	for line := range strings.Lines(string(text)) {
		if warning, ok := strings.CutPrefix(line, "# warning: "); ok {
			warnings = append(warnings, strings.TrimSpace(warning))
		}
	}
	return warnings
}
