package events

import (
	"reflect"
	"slices"
	"strings"
)

// Kind is what has happened. Its CloudEvents type is "dev.stoker." + Kind + ".v1".
type Kind string

// The events that Stoker reads and writes.
const (
	KindExamplesReady  Kind = "examples.ready"
	KindTransformReady Kind = "transform.ready"
	KindHParamsReady   Kind = "hparams.ready"
	KindModelTrained   Kind = "model.trained"
	KindModelBlessed   Kind = "model.blessed"
	KindTrainingFailed Kind = "training.failed"
	KindTuningFailed   Kind = "tuning.failed"
)

// Publisher is a part of a deployment that publishes events.
type Publisher string

// The publishers.
const (
	ByUpstream   Publisher = "upstream"   // programs outside of Stoker
	ByBridge     Publisher = "bridge"     // for marker objects that upstream uploads
	ByDispatcher Publisher = "dispatcher" // about runs that get no job
	ByWorker     Publisher = "worker"     // about the results of jobs
)

// kinds has one row for each kind of event, inputs first. Subjects, schemas, the AsyncAPI document,
// permissions, the words of wait_for, markers and completion are derived from it. The methods of a
// kind's data have the rest: see Data, and the interfaces below it.
var kinds = []struct {
	kind       Kind
	data       Data // the zero value of its type
	publishers []Publisher
	await      string // the word for it in a pipeline's wait_for; "" if no run waits for it
	marker     Marker
}{
	{
		kind: KindExamplesReady, data: &ExamplesReady{}, publishers: []Publisher{ByUpstream, ByBridge}, await: "examples",
		marker: Marker{Member: "examples"},
	},
	{
		kind: KindTransformReady, data: &TransformReady{}, publishers: []Publisher{ByUpstream, ByBridge}, await: "transform",
		marker: Marker{Member: "transform_graph", Folder: "transform_fn/"},
	},
	{
		kind: KindHParamsReady, data: &HParamsReady{}, publishers: []Publisher{ByUpstream, ByBridge, ByDispatcher, ByWorker}, await: "hparams",
		marker: Marker{Member: "hyperparameters", Folder: "best_hyperparameters.txt"},
	},
	{kind: KindModelBlessed, data: &ModelBlessed{}, publishers: []Publisher{ByUpstream}},
	{kind: KindModelTrained, data: &ModelTrained{}, publishers: []Publisher{ByWorker}},
	{kind: KindTrainingFailed, data: &TrainingFailed{}, publishers: []Publisher{ByDispatcher, ByWorker}},
	{kind: KindTuningFailed, data: &TuningFailed{}, publishers: []Publisher{ByDispatcher, ByWorker}},
}

// Marker describes how an uploaded marker object names the artifact of a kind that the bridge
// publishes.
type Marker struct {
	// Member is the member of the kind's data with the artifact's address. A marker whose body has
	// it is of the kind, unless Shared.
	Member string
	// Folder is an object, or with a trailing slash a folder, that each artifact of the kind has: a
	// marker without an artifact refers to its own folder. "" for Examples, which the bridge
	// recognizes by their splits.
	Folder string
	// Shared is true if Member is an optional member of other kinds too, so that it alone does not
	// determine the kind of a marker.
	Shared bool
}

// Kinds lists every kind, inputs first.
func Kinds() []Kind { return kindsWhere(func(int) bool { return true }) }

// PublishedBy lists the kinds that a part of a deployment publishes.
func PublishedBy(p Publisher) []Kind {
	return kindsWhere(func(i int) bool { return slices.Contains(kinds[i].publishers, p) })
}

// RunKinds lists the kinds of the events that form runs: those whose data is a RunData.
func RunKinds() []Kind {
	return kindsWhere(func(i int) bool { _, ok := kinds[i].data.(RunData); return ok })
}

func kindsWhere(holds func(row int) bool) []Kind {
	var found []Kind
	for i, row := range kinds {
		if holds(i) {
			found = append(found, row.kind)
		}
	}
	return found
}

// WaitWords lists the words of a pipeline's wait_for.
func WaitWords() []string {
	var words []string
	for _, row := range kinds {
		if row.await != "" {
			words = append(words, row.await)
		}
	}
	return words
}

// Awaited returns the kind for a word of a pipeline's wait_for; "" for any other word.
func Awaited(word string) Kind {
	for _, row := range kinds {
		if row.await == word && word != "" {
			return row.kind
		}
	}
	return ""
}

// Marker returns how marker objects name the artifacts of the kind; the zero Marker for a kind that
// the bridge does not publish.
func (k Kind) Marker() Marker {
	for _, row := range kinds {
		if row.kind == k {
			return row.marker
		}
	}
	return Marker{}
}

const (
	typePrefix = "dev.stoker."
	typeSuffix = ".v1"
)

// Type returns the CloudEvents type of the kind: dev.stoker.examples.ready.v1.
func (k Kind) Type() string { return typePrefix + string(k) + typeSuffix }

// KindOf is the inverse of Type. A type that is not one of Stoker's is an *Invalid.
func KindOf(cloudEventsType string) (Kind, error) {
	name, ours := strings.CutPrefix(cloudEventsType, typePrefix)
	name, known := strings.CutSuffix(name, typeSuffix)
	if kind := Kind(name); ours && known && slices.Contains(Kinds(), kind) {
		return kind, nil
	}
	return "", invalid("type", "one of "+strings.Join(Types(Kinds()), ", "), cloudEventsType)
}

// Types lists the CloudEvents types of kinds.
func Types(of []Kind) []string {
	types := make([]string, len(of))
	for i, kind := range of {
		types[i] = kind.Type()
	}
	return types
}

// NewData returns the zero value of the data type of a kind; nil for a kind that does not exist.
func NewData(kind Kind) Data {
	for _, row := range kinds {
		if row.kind == kind {
			return copyOf(reflect.Zero(reflect.TypeOf(row.data).Elem()))
		}
	}
	return nil
}

// copyOf returns a pointer to a copy of the value of a data type.
func copyOf(value reflect.Value) Data {
	copied := reflect.New(value.Type())
	copied.Elem().Set(value)
	return copied.Interface().(Data)
}
