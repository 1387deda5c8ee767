package bucket

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
)

// newBackend keeps buckets below dir.
func newBackend(dir string, log *slog.Logger) (*rooted, error) {
	buckets := filepath.Join(dir, "buckets")
	if err := os.MkdirAll(buckets, 0o700); err != nil {
		return nil, err
	}
	metadata, err := metadataFor(dir, buckets)
	if err != nil {
		return nil, err
	}
	// "." makes the backend change to where the process is already; see rooted. Without lock files, conditional writes are
	// decided within this process, which is the only one here: Start holds dir's lock.
	be, err := posix.New(".", metadata, posix.PosixOpts{
		ForceNoObjLockFile:  true,
		CopyObjectThreshold: 5 << 30,
		NewDirPerm:          0o755,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", buckets, err)
	}
	return &rooted{posix: be, dir: buckets, log: log}, nil
}

// metadataFor chooses where S3's metadata goes, once for every installation: a folder that was begun with one way can't be
// read with the other.
func metadataFor(dir, buckets string) (meta.MetadataStorer, error) {
	beside := filepath.Join(dir, "metadata")
	_, err := os.Stat(beside)
	if err == nil {
		return meta.NewSideCar(beside)
	}
	if !os.IsNotExist(err) {
		return nil, err
	}
	if hasAttributes(buckets) {
		return meta.XattrMeta{}, nil
	}
	if err := os.Mkdir(beside, 0o700); err != nil {
		return nil, err
	}
	return meta.NewSideCar(beside)
}

// hasAttributes tries whether the file system keeps extended attributes.
func hasAttributes(dir string) bool {
	const name = "stoker-probe"
	var x meta.XattrMeta
	if x.StoreAttribute(nil, dir, "", name, []byte("kept")) != nil {
		return false
	}
	got, err := x.RetrieveAttribute(nil, dir, "", name)
	return err == nil && string(got) == "kept" && x.DeleteAttribute(dir, "", name) == nil
}
