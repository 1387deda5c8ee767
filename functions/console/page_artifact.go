package console

import (
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/stoker-ml/stoker/storage"
)

// artifactView is the content of a directory of the store.
type artifactView struct {
	Address string
	Above   template.URL
	Digest  string
	Size    int64
	Files   []fileLine
	Leaf    leaf
	Tar     template.URL
}

type fileLine struct {
	Path, SHA256 string
	Size         int64
	URL          template.URL
}

const filesPerPage = 200

func (c *Console) artifactPage() page {
	return page{
		nav: "runs", template: "artifact", title: func(view any) string { return path.Base(view.(artifactView).Address) },
		build: func(r *http.Request) (any, error) { return c.artifactView(r) },
	}
}

func (c *Console) artifactView(r *http.Request) (view artifactView, err error) {
	ref, err := c.ours(strings.TrimSuffix(r.FormValue("ref"), "/"))
	if err != nil {
		return view, badRequest("%s", err)
	}
	listing, err := storage.List(r.Context(), c.opts.Store, ref)
	if err != nil {
		return view, err
	}
	view = artifactView{Address: ref.String(), Digest: listing.Digest, Size: listing.Size(), Tar: link("/download", "ref", ref.String(), "tar", "1")}
	if above := path.Dir(ref.Key); above != "." {
		parent := storage.Ref{Bucket: ref.Bucket, Key: above}
		if _, err := c.ours(parent.String()); err == nil {
			view.Above = link("/artifact", "ref", parent.String())
		}
	}
	files, at := leafOf(r, listing.Files, filesPerPage)
	view.Leaf = at
	for _, file := range files {
		address := ref
		if len(listing.Files) > 1 || path.Base(ref.Key) != file.Path {
			address = ref.Join(file.Path)
		}
		view.Files = append(view.Files, fileLine{file.Path, file.SHA256, file.Size, link("/download", "ref", address.String())})
	}
	return view, nil
}
