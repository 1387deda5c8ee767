package console

import (
	"archive/tar"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// download sends an object of the store, or a directory as a tar file: always as an attachment,
// which the browser never displays or runs. It refuses an address outside the root.
func (c *Console) download(w http.ResponseWriter, r *http.Request) {
	ref, err := c.ours(r.FormValue("ref"))
	if err != nil {
		c.fail(w, r, badRequest("%s", err))
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the object may be large
	if r.FormValue("tar") != "" {
		c.downloadFolder(w, r, ref)
		return
	}
	body, object, err := c.opts.Store.Open(r.Context(), ref, "")
	if err != nil {
		c.fail(w, r, err)
		return
	}
	defer body.Close()
	asAttachment(w, path.Base(ref.Key))
	w.Header().Set("Content-Length", strconv.FormatInt(object.Size, 10))
	c.copied(w, r, ref, body)
}

func asAttachment(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

// copied sends a body. If reading it fails, the connection is closed, so that a client notices that
// the body is incomplete.
func (c *Console) copied(w io.Writer, r *http.Request, ref storage.Ref, body io.Reader) {
	if _, err := io.Copy(w, body); err != nil {
		c.cut(r, ref, err)
	}
}

func (c *Console) cut(r *http.Request, ref storage.Ref, err error) {
	if r.Context().Err() == nil {
		c.opts.Logger.Warn("download cut short", "ref", ref.String(), "error", err)
	}
	panic(http.ErrAbortHandler)
}

func (c *Console) downloadFolder(w http.ResponseWriter, r *http.Request, ref storage.Ref) {
	listing, err := storage.List(r.Context(), c.opts.Store, ref)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	asAttachment(w, path.Base(path.Dir(ref.Folder().Key))+".tar")
	archive := tar.NewWriter(w)
	for _, file := range listing.Files {
		if err := c.pack(r, archive, listing.Ref, file); err != nil {
			c.cut(r, ref, err)
		}
	}
	if err := archive.Close(); err != nil {
		c.cut(r, ref, err)
	}
}

func (c *Console) pack(r *http.Request, archive *tar.Writer, folder storage.Ref, file storage.File) error {
	body, object, err := c.opts.Store.Open(r.Context(), folder.Join(file.Path), file.ETag)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: file.Path, Mode: 0o644, Size: object.Size, ModTime: object.Modified, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return errors.Join(err, body.Close())
	}
	_, err = io.Copy(archive, body)
	return errors.Join(err, body.Close())
}
