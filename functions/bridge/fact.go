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

// fact is what the upload of a marker tells. An input failure says that it can tell nothing.
func (b *Bridge) fact(ctx context.Context, u upload) (events.Fact, error) {
	if err := cmp.Or(u.badKey, u.at.Validate()); err != nil {
		return events.Fact{}, refused(err)
	}
	marker, err := b.read(ctx, u)
	if err != nil {
		return events.Fact{}, err
	}
	pipeline := cmp.Or(marker.Pipeline, b.opts.Pipeline)
	if pipeline == "" {
		return events.Fact{}, refused(noPipeline)
	}
	if err := b.allowed(u.at, pipeline); err != nil {
		return events.Fact{}, refused(err)
	}
	folder := u.folder()
	data := &events.ExamplesReady{
		Schema:     within(folder, marker.Schema),
		Statistics: within(folder, marker.Statistics),
		Request:    events.Request{Force: marker.Force},
	}
	if data.Examples, err = b.examples(ctx, folder, marker.Examples); err != nil {
		return events.Fact{}, err
	}
	fact := events.Fact{
		ID:       u.id(),
		Source:   events.SourceBridge,
		Pipeline: pipeline,
		Run:      cmp.Or(marker.Run, path.Base(folder.Key)),
		Time:     u.time,
		Trace:    marker.Trace,
		Data:     data,

		TraceState: marker.TraceState,
	}
	return fact, refused(fact.Validate())
}

var noPipeline = &events.Invalid{
	Field:    "pipeline",
	Expected: "the name of one in the object's metadata or in its body, for the bridge has no default",
}

// id is the same whenever and by whomever the notification is read.
func (u upload) id() string {
	return events.DerivedID("bucket", u.at.Bucket, u.at.Key, u.version, u.etag)
}

// folder is where the object lies; the key is empty for the top of a bucket.
func (u upload) folder() storage.Ref {
	dir, _ := path.Split(u.at.Key)
	return storage.Ref{Bucket: u.at.Bucket, Key: strings.TrimSuffix(dir, "/")}
}

// examples are those that the marker names, else the folder.
func (b *Bridge) examples(ctx context.Context, folder storage.Ref, named []events.Examples) ([]events.Examples, error) {
	if len(named) > 0 {
		for i := range named {
			named[i].URI = within(folder, named[i].URI)
		}
		return named, nil
	}
	if folder.Key == "" {
		return nil, refused(errors.New("expected examples in its body, or a folder to lie in: a whole bucket is no artifact"))
	}
	splits, err := b.splits(ctx, folder)
	if err != nil {
		return nil, err
	}
	return []events.Examples{{URI: folder.String(), Splits: splits}}, nil
}

const splitPrefix = "Split-"

// splits are the names of the Split-<name> folders that hold files.
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
	if len(found) == 0 {
		return nil, refused(fmt.Errorf("expected %s<name> folders with files in %s, or examples in its body; got neither", splitPrefix, folder))
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// within makes an address of what a marker in folder calls one. What comes of a bad one is found by whoever validates the fact.
func within(folder storage.Ref, address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return storage.Ref{Bucket: folder.Bucket, Key: path.Join(folder.Key, address)}.String()
}
