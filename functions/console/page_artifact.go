package console

import (
	"context"
	"errors"
	"html/template"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/console/preview"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/storage"
)

// artifactView is a folder of the store, or one file.
type artifactView struct {
	Address string
	Title   string
	Kind    string // what it is, as far as that is known
	Above   []crumb
	Whole   *crumb // the artifact that it is a part of
	Digest  string
	Size    int64
	Count   int
	More    bool   // there are more files than are listed
	Bad     string // what is wrong with it
	Files   []fileLine
	Leaf    leaf
	Get     template.URL // address of its download
	Single  bool         // it is one file
	// It is a checkpoint, or a part of one.
	Checkpoint bool
	Preview    *preview.Preview
	Made       *originView // nil: Stoker did not make it
	Lineage    template.URL
	Readers    []runLink // the most recently updated first
	Others     int       // further readers
	Sharing    []runLink // runs that have it as their result, and did not make it
}

// crumb is a folder above, or an artifact that contains something.
type crumb struct {
	Name string
	URL  template.URL
}

// fileLine is a file. Its URL is its page; "" if it can have none.
type fileLine struct {
	Path, SHA256 string
	Size         int64
	URL, Get     template.URL
}

// runLink is a run, and its state.
type runLink struct {
	runs.Summary
	URL template.URL
}

// originView is how an artifact was made.
type originView struct {
	Pipeline, Component, Execution string
	Run                            *runLink // nil: it is not known any more
	Revision                       uint64
	Record                         *lineage.Made // nil: there is no manifest
	Inputs                         []madeFrom
}

// madeFrom is an artifact that another one was made from. Its URL is its page; "" if it is outside
// of the console's root.
type madeFrom struct {
	Type, Address string
	URL           template.URL
}

// Environment returns where it was made.
func (v originView) Environment() []settingLine {
	if v.Record == nil {
		return nil
	}
	return environmentOf(*v.Record)
}

// Took returns how long it took.
func (v originView) Took() time.Duration { return v.Record.Finished.Sub(v.Record.Started) }

// Limits of the page.
const (
	filesPerPage = 200
	maxFiles     = 10_000 // that are listed
	maxReaders   = 20
	maxInputs    = 50
	maxPreviews  = 2 // that are made at a time
)

func (c *Console) artifactPage() page {
	return page{
		nav: "runs", template: "artifact", title: func(view any) string { return view.(artifactView).Title },
		build: func(r *http.Request) (any, error) { return c.artifactView(r) },
	}
}

func (c *Console) artifactView(r *http.Request) (view artifactView, err error) {
	ref, err := c.ours(strings.TrimSuffix(r.FormValue("ref"), "/"))
	if err != nil {
		return view, badRequest("%s", err)
	}
	listed, err := c.listFiles(r.Context(), ref)
	if err != nil {
		return view, err
	}
	view = artifactView{
		Address: ref.String(), Digest: listed.Digest, Size: listed.Size(), Count: len(listed.Files), More: listed.more, Bad: listed.bad,
		Single: len(listed.Files) == 1 && path.Base(ref.Key) == listed.Files[0].Path, Above: c.foldersAbove(ref),
	}
	view.Get = link("/download", "ref", ref.String(), "tar", map[bool]string{false: "1"}[view.Single])
	files, at := leafOf(r, listed.Files, filesPerPage)
	view.Leaf = at
	for _, file := range files {
		view.Files = append(view.Files, c.fileLine(ref, file, view.Single))
	}
	view.Kind = kindOf(listed.Listing)
	if len(listed.Files) == 1 {
		address := ref
		if !view.Single {
			address = ref.Join(listed.Files[0].Path)
		}
		view.Preview = c.preview(r.Context(), address, listed.Files[0])
	}
	return view, c.addOrigin(r.Context(), &view, ref)
}

// preview returns the preview of a file; one with a note if it can't be read.
func (c *Console) preview(ctx context.Context, ref storage.Ref, file storage.File) *preview.Preview {
	body, _, err := c.opts.Store.Open(ctx, ref, file.ETag)
	if err != nil {
		return &preview.Preview{Note: "The file can't be read now: " + mask.Text(err.Error())}
	}
	defer body.Close()
	select { // a preview may take a hundred times the memory of what it reads
	case c.previews <- struct{}{}:
		defer func() { <-c.previews }()
	case <-ctx.Done():
		return &preview.Preview{Note: "The file can't be read now."}
	}
	p, err := preview.Of(file.Path, file.Size, body)
	if err != nil {
		p.Note = "The file can't be read now: " + mask.Text(err.Error())
	}
	return &p
}

func (c *Console) fileLine(folder storage.Ref, file storage.File, single bool) fileLine {
	line := fileLine{Path: file.Path, SHA256: file.SHA256, Size: file.Size}
	address := folder
	if !single {
		address = folder.Join(file.Path)
	}
	if address.Validate() == nil {
		line.Get = link("/download", "ref", address.String())
		if !single {
			line.URL = link("/artifact", "ref", address.String())
		}
	}
	return line
}

// foldersAbove returns the folders above an address that the console may show, the outermost first.
func (c *Console) foldersAbove(ref storage.Ref) (list []crumb) {
	for key := path.Dir(ref.Key); key != "." && key != "/"; key = path.Dir(key) {
		above := storage.Ref{Bucket: ref.Bucket, Key: key}
		if _, err := c.ours(above.String()); err != nil {
			break
		}
		name := path.Base(key)
		if len(name) == 64 {
			name = chart.ShortDigest(name)
		}
		list = append(list, crumb{name, link("/artifact", "ref", above.String())})
	}
	slices.Reverse(list)
	return list
}

// listedFiles are the files at an address.
type listedFiles struct {
	storage.Listing
	more bool   // there are more
	bad  string // why they are not an artifact
}

var errManyFiles = errors.New("too many files")

// listFiles lists at most maxFiles files. Where they are not what a manifest names, it lists what
// is there.
func (c *Console) listFiles(ctx context.Context, ref storage.Ref) (listedFiles, error) {
	seen := &listedStore{Store: c.opts.Store}
	listing, err := storage.List(ctx, seen, ref)
	out := listedFiles{Listing: listing}
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, errManyFiles):
		out.more = true
	case len(seen.objects) == 0, ctx.Err() != nil, errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrDenied):
		return out, err
	default:
		out.bad = mask.Text(err.Error())
	}
	out.Listing = storage.Listing{Ref: ref}
	for _, object := range seen.objects {
		if name, ok := strings.CutPrefix(object.Ref.Key, ref.Folder().Key); ok && name != "" && object.Ref.Bucket == ref.Bucket {
			out.Files = append(out.Files, storage.File{Path: name, Size: object.Size, ETag: object.ETag})
		}
	}
	return out, nil
}

// listedStore remembers what it lists, and ends a listing with errManyFiles.
type listedStore struct {
	storage.Store
	objects []storage.Object
}

func (s *listedStore) List(ctx context.Context, prefix storage.Ref) iter.Seq2[storage.Object, error] {
	return func(yield func(storage.Object, error) bool) {
		for object, err := range s.Store.List(ctx, prefix) {
			if err == nil && len(s.objects) == maxFiles {
				yield(storage.Object{}, errManyFiles)
				return
			}
			if err == nil {
				s.objects = append(s.objects, object)
			}
			if !yield(object, err) {
				return
			}
		}
	}
}

// kindOf returns what files are, in words: the type that Stoker published, or what their names say.
func kindOf(l storage.Listing) string {
	if l.Out != nil {
		return map[string]string{"ModelRun": "model run", "HyperParameters": "hyperparameters", "TunerResults": "tuner results", "Model": "model"}[l.Out.Type]
	}
	names := make([]string, 0, len(l.Files))
	for _, file := range l.Files {
		names = append(names, file.Path)
	}
	return chart.Words(string(inspect.KindOfNames(names)))
}

// addOrigin adds how an artifact was made, and the runs that read it. A part of an artifact has the
// origin of the whole.
func (c *Console) addOrigin(ctx context.Context, view *artifactView, ref storage.Ref) error {
	whole, place, ours := ref, storage.Place{}, false
	addresses := []string{ref.String()}
	for key := ref.Key; key != "." && key != "/" && !ours; key = path.Dir(key) {
		whole.Key = key
		place, ours = storage.PlaceOf(whole)
		if ours = ours && place.Validate() == nil; !ours {
			addresses = append(addresses, whole.String())
		}
	}
	view.Title = path.Base(ref.Key)
	if _, part, _ := storage.OwnerOf(c.opts.Root, ref.Join("file")); part == storage.PartCheckpoint {
		view.Checkpoint = true
	}
	if ours {
		if err := c.addMade(ctx, view, whole, place); err != nil {
			return err
		}
		addresses = []string{whole.String()}
	}
	c.model.View(func(x *runs.Index) {
		view.Readers = c.runLinks(x, x.ReadBy(addresses...))
		view.Others = max(0, len(view.Readers)-maxReaders)
		view.Readers = view.Readers[:len(view.Readers)-view.Others]
	})
	return nil
}

// addMade adds how Stoker made an artifact.
func (c *Console) addMade(ctx context.Context, view *artifactView, whole storage.Ref, place storage.Place) error {
	made := &originView{Pipeline: path.Base(path.Dir(place.Root.Key)), Component: path.Base(place.Root.Key), Execution: place.Execution}
	record, err := c.madeAt(ctx, whole.String())
	switch {
	case err == nil:
		made.Record = &record
	case !errors.Is(err, events.ErrNotFound):
		return err
	}
	for _, input := range record.Inputs[:min(len(record.Inputs), maxInputs)] {
		line := madeFrom{Type: input.Type, Address: input.URI}
		if ref, err := c.ours(input.URI); err == nil {
			line.URL = link("/artifact", "ref", ref.String())
		}
		made.Inputs = append(made.Inputs, line)
	}
	c.model.View(func(x *runs.Index) {
		ofAnother := func(r runLink) bool { return r.Pipeline != made.Pipeline }
		makers := slices.DeleteFunc(c.runLinks(x, x.MadeBy(place.Execution)), ofAnother)
		view.Sharing = slices.DeleteFunc(c.runLinks(x, x.UsedBy(place.Execution)), ofAnother)
		view.Sharing = view.Sharing[:min(len(view.Sharing), maxReaders)]
		if len(makers) > 0 {
			made.Run = &makers[0]
			r, _ := x.Run(makers[0].Key())
			made.Revision = r.Join.Stage(functionOf(made.Component)).Revision
		}
	})
	view.Made = made
	if made.Run != nil && made.Component == "Trainer" {
		view.Lineage = link("/lineage", "pipeline", made.Run.Pipeline, "run", made.Run.Run)
	}
	if view.Address != whole.String() {
		view.Whole = &crumb{path.Base(path.Dir(path.Dir(whole.Key))), link("/artifact", "ref", whole.String())}
		return nil
	}
	view.Title = view.Kind
	if view.Title == "" {
		view.Title = path.Base(path.Dir(path.Dir(whole.Key)))
	}
	view.Title = strings.ToUpper(view.Title[:1]) + view.Title[1:] + " of " + made.Pipeline
	if made.Run != nil {
		view.Title += "/" + made.Run.Run
	}
	return nil
}

func functionOf(component string) events.Function {
	if component == tunerFolder {
		return events.FunctionTune
	}
	return events.FunctionTrain
}

// runLinks returns runs, the most recently updated first. It is called in View.
func (c *Console) runLinks(x *runs.Index, keys iter.Seq[key]) (list []runLink) {
	for k := range keys {
		if r, known := x.Run(k); known {
			list = append(list, runLink{r.Summary, link("/run", "pipeline", k.Pipeline, "run", k.Run)})
		}
	}
	slices.SortFunc(list, func(a, b runLink) int {
		if order := b.Updated.Compare(a.Updated); order != 0 {
			return order
		}
		return strings.Compare(a.Pipeline+"/"+a.Run, b.Pipeline+"/"+b.Run)
	})
	return list
}
