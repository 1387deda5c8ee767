package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/table"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// uploaded is the result of upload.
type uploaded struct {
	To    string `json:"to"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

func newUpload(a *app.App) *cobra.Command {
	var force bool
	var split table.SplitFlags
	cmd := &cobra.Command{
		Use:         "upload FOLDER|TABLE|FILE s3://BUCKET/KEY",
		GroupID:     app.Act,
		Annotations: app.Info{Role: access.Upstream}.Annotations(),
		Short:       "Upload a folder, a file, or a table as Examples",
		Long: "Copies a local folder to the store as an artifact, as a producer of artifacts does. A single file becomes a folder with that file\n" +
			"in it.\n\n" + table.TableHelp,
		Example: "  stoker upload ./examples s3://stoker/own/examples\n" +
			"  stoker upload schema.pbtxt s3://stoker/own/schema\n" +
			"  stoker upload penguins.csv s3://stoker/own/examples --split train:8,eval:2",
		Args: app.Exactly(2, "a folder, a table or a file, and an address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := storage.ParseRef(args[1])
			if err != nil && strings.HasPrefix(args[0], "s3://") {
				return exit.Usage(fmt.Errorf("expected the local path first: `stoker upload %s %s`", app.Quoted(args[1]), app.Quoted(args[0])))
			}
			if err != nil {
				return exit.Usage(err)
			}
			folder, converted, err := uploadable(cmd.Context(), a, args[0], split)
			if err != nil {
				return err
			}
			defer converted.Remove()
			if err := modules.CheckUpload(cmd.Context(), a, folder); err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(ctx context.Context, store storage.Store, root storage.Ref) error {
				err := checkEmpty(ctx, store, to)
				if errors.Is(err, storage.ErrNotFound) {
					return exit.NotFound(fmt.Errorf("%s: the store has no bucket %s: create it with the store's own tools, or upload below %s", to, to.Bucket, root))
				}
				if err != nil && !force {
					return err
				}
				sent, err := shownUpload(ctx, a, store, folder, to)
				if err != nil {
					return exit.Interrupted(ctx, err, fmt.Sprintf("the files that were sent stay in %s: repeat the command with --force", to))
				}
				return a.Print(sent, func(w io.Writer) { fmt.Fprintf(w, "%d files, %d bytes to %s\n", sent.Files, sent.Bytes, sent.To) })
			})
		},
	}
	split.Add(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "write to the address even if it holds objects")
	return cmd
}

// uploadable returns the folder or file to upload: the named one, or the folder of the Examples
// made from a table, which are nil for others.
func uploadable(ctx context.Context, a *app.App, path string, split table.SplitFlags) (string, *table.Examples, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s: %w", path, app.Cause(err))
	case !info.IsDir() && examplegen.Known(path):
		converted, err := table.Convert(ctx, a, path, split)
		if err != nil {
			return "", nil, err
		}
		return converted.Folder, converted, nil
	case split.Given():
		return "", nil, exit.Usage(fmt.Errorf("--split and --split-column apply only to tables (%s), and %s is none", examplegen.Formats, path))
	}
	return path, nil, nil
}

// checkEmpty returns an error for an address in use: artifacts never change, and their readers rely
// on that.
func checkEmpty(ctx context.Context, store storage.Store, to storage.Ref) error {
	folder := to
	if folder.Key != "" {
		folder.Key += "/"
	}
	for object, err := range store.List(ctx, folder) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s: %s already exists, and artifacts never change: give another address, or --force", to, object.Ref.Key)
	}
	return nil
}

// shownUpload is upload with its progress.
func shownUpload(ctx context.Context, a *app.App, store storage.Store, folder string, to storage.Ref) (uploaded, error) {
	work := a.Begin("upload", terminal.Bytes)
	defer work.Close()
	files := 0
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		info, err := entry.Info()
		if err == nil {
			work.Expect(info.Size())
		}
		return err
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s: the folder holds no file", folder)
	}
	if err != nil {
		return uploaded{}, err
	}
	return upload(ctx, app.Counted(store, work), folder, to, work.Note)
}

// upload uploads the files of a folder one at a time, and a bridge's marker last. Nothing else
// announces them until an event is published.
func upload(ctx context.Context, store storage.Store, folder string, to storage.Ref, onFile func(name string)) (uploaded, error) {
	sent := uploaded{To: to.String()}
	var markers []string
	send := func(path string) error {
		name, err := filepath.Rel(folder, path)
		if name == "." { // a file by itself
			name = filepath.Base(path)
		}
		if err != nil {
			return err
		}
		onFile(name)
		object, err := storage.PutFile(ctx, store, to.Join(filepath.ToSlash(name)), path)
		sent.Files, sent.Bytes = sent.Files+1, sent.Bytes+object.Size
		return err
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case entry.Name() == bridge.DefaultMarker:
			markers = append(markers, path)
			return nil
		}
		return send(path)
	})
	for _, path := range markers {
		if err == nil {
			err = send(path)
		}
	}
	return sent, err
}
