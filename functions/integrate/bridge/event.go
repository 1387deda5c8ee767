package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// event returns the event of the upload of a marker. A failure of kind input means that there can
// be none.
func (b *Bridge) event(ctx context.Context, u upload) (events.Event, error) {
	if err := cmp.Or(u.badKey, u.at.Validate()); err != nil {
		return events.Event{}, refused(err)
	}
	marker, err := b.read(ctx, u)
	if err != nil {
		return events.Event{}, err
	}
	pipeline := cmp.Or(marker.Pipeline, b.opts.Pipeline)
	if pipeline == "" {
		return events.Event{}, refused(noPipeline)
	}
	if err := b.allowed(u.at, pipeline); err != nil {
		return events.Event{}, refused(err)
	}
	folder := u.folder()
	data, err := b.data(ctx, folder, marker)
	if err != nil {
		return events.Event{}, err
	}
	event := events.Event{
		ID:       u.id(),
		Source:   events.SourceBridge,
		Pipeline: pipeline,
		Run:      cmp.Or(marker.Run, path.Base(folder.Key)),
		Time:     u.time,
		Trace:    marker.Trace,
		Data:     data,

		TraceState: marker.TraceState,
	}
	return event, refused(event.Validate())
}

var noPipeline = &events.Invalid{
	Field:    "pipeline",
	Expected: "the name of a pipeline in the marker's metadata or body, because the bridge has no default",
}

// id is the same for every delivery of the notification and for every bridge.
func (u upload) id() string {
	return events.DerivedID("bucket", u.at.Bucket, u.at.Key, u.version, u.etag)
}

// folder returns the folder of the object; the key is empty for the top of a bucket.
func (u upload) folder() storage.Ref {
	dir, _ := path.Split(u.at.Key)
	return storage.Ref{Bucket: u.at.Bucket, Key: strings.TrimSuffix(dir, "/")}
}

// data returns the data of a marker in a folder: the artifacts that it names, or else those in the
// folder.
func (b *Bridge) data(ctx context.Context, folder storage.Ref, m Marker) (events.Data, error) {
	kind := m.says()
	if kind == "" {
		var err error
		if kind, err = b.find(ctx, folder, &m); err != nil {
			return nil, err
		}
	}
	return m.data(kind, folder)
}

// The layout of TFX's components: <pipeline>/<component>/<output>/<execution>/.
const (
	splitPrefix      = "Split-"               // of folders in an Examples artifact
	graphOutput      = "transform_graph"      // of Transform
	transformsOutput = "transformed_examples" // of Transform, of the same execution
)

// find sets the artifact of a marker that names none to its folder, and returns the kind of event.
func (b *Bridge) find(ctx context.Context, folder storage.Ref, m *Marker) (events.Kind, error) {
	if folder.Key == "" {
		return "", refused(errors.New("expected examples in its body, or a marker in a folder: a whole bucket is not an artifact"))
	}
	splits, err := b.splits(ctx, folder)
	if err != nil {
		return "", err
	}
	if len(splits) > 0 {
		return events.KindExamplesReady, m.set("examples", []events.Examples{{URI: ".", Splits: splits}})
	}
	var folders, named []string
	for _, kind := range events.PublishedBy(events.ByBridge) {
		marker := kind.Marker()
		if !marker.Shared {
			named = append(named, marker.Member)
		}
		if marker.Folder == "" {
			continue
		}
		folders = append(folders, strings.TrimSuffix(marker.Folder, "/"))
		there, err := b.holds(ctx, folder, marker.Folder)
		if err != nil {
			return "", err
		}
		if there {
			return kind, b.complete(ctx, kind, folder, m)
		}
	}
	return "", refused(fmt.Errorf("expected %s<name> folders with files, %s in %s, or %s in its body; got none of them",
		splitPrefix, oneOf(folders), folder, oneOf(named)))
}

// Layouts lists, for people, the folder contents by which a marker announces each kind, one line
// each.
func Layouts() string {
	var lines strings.Builder
	for _, kind := range events.PublishedBy(events.ByBridge) {
		fmt.Fprintf(&lines, "  %-24s  %s\n", cmp.Or(kind.Marker().Folder, splitPrefix+"<name>/"), kind)
	}
	return lines.String()
}

// oneOf joins words: "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// complete sets the artifact of a kind to the marker's folder. For a transform graph it also adds
// the examples that the same execution of Transform has written next to it, unless the marker names
// some.
func (b *Bridge) complete(ctx context.Context, kind events.Kind, folder storage.Ref, m *Marker) error {
	if err := m.set(kind.Marker().Member, "."); err != nil {
		return err
	}
	output := path.Dir(folder.Key)
	if kind != events.KindTransformReady || path.Base(output) != graphOutput || m.Data[transformsOutput] != nil {
		return nil
	}
	at := storage.Ref{Bucket: folder.Bucket, Key: path.Join(path.Dir(output), transformsOutput, path.Base(folder.Key))}
	splits, err := b.splits(ctx, at)
	if err != nil || len(splits) == 0 {
		return err
	}
	return m.set(transformsOutput, []events.Examples{{URI: at.String(), Splits: splits}})
}

// holds reports whether a folder has an object of that name, or, if the name ends in a slash, one
// below it.
func (b *Bridge) holds(ctx context.Context, folder storage.Ref, name string) (bool, error) {
	want := folder.Key + "/" + name
	for object, err := range b.store.List(ctx, folder.Join(strings.TrimSuffix(name, "/"))) {
		if err != nil {
			return false, fmt.Errorf("list %s: %w", folder, err)
		}
		rest, found := strings.CutPrefix(object.Ref.Key, want)
		if found && (rest != "") == strings.HasSuffix(name, "/") {
			return true, nil
		}
	}
	return false, nil
}

// splits returns the names of the Split-<name> folders that hold files.
func (b *Bridge) splits(ctx context.Context, folder storage.Ref) ([]string, error) {
	found := map[string]bool{}
	for object, err := range b.store.List(ctx, folder.Join(splitPrefix)) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", folder, err)
		}
		name, file, isFolder := strings.Cut(strings.TrimPrefix(object.Ref.Key, folder.Join(splitPrefix).Key), "/")
		if isFolder && file != "" {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// within resolves an address of a marker in folder. An invalid one is detected when the event is
// validated.
func within(folder storage.Ref, address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return storage.Ref{Bucket: folder.Bucket, Key: path.Join(folder.Key, address)}.String()
}
