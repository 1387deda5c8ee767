package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// pulled is the result of `models pull`.
type pulled struct {
	Model string `json:"model"`
	Path  string `json:"path"`
	Run   string `json:"model_run,omitempty"` // the path of the copy
}

// pulling is what `stoker models pull` does.
type pulling struct {
	to                string
	serving, modelRun bool

	store storage.Store
	work  *terminal.Work
}

func newModelsPull(a *app.App) *cobra.Command {
	var run string
	var p pulling
	cmd := &cobra.Command{
		Use:         "pull MODEL",
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Download a model, and verify it by its manifest",
		Long: "Copies a model to a local folder. With --serving the folder gets the model in a numbered version folder (the Unix time of its\n" +
			"training), as TensorFlow Serving requires. A folder that already holds the same files is left unchanged; one with other files is\n" +
			"never written to. --model-run also copies the outputs of the training: event files for TensorBoard, metrics, and the report of a\n" +
			"warm start.\n\n" + modelNamesHelp,
		Example: "  stoker models pull penguin --to ./penguin --serving\n" +
			"  stoker models pull penguin/monday --to ./monday --model-run && tensorboard --logdir ./monday/model_run",
		Args:              app.Named("a model"),
		ValidArgsFunction: a.PipelineOrRunNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error {
				model, err := findModel(ctx, a, l.Bus, app.JoinRun(args[0], run))
				if err != nil {
					return err
				}
				p.store, p.work = l.Store, a.Begin("pull", terminal.Bytes)
				defer p.work.Close()
				got, err := p.pull(ctx, a, model)
				p.work.Close()
				if err != nil {
					return exit.Interrupted(ctx, err, "nothing incomplete was left in "+p.to)
				}
				return p.print(a, model, got)
			})
		},
	}
	a.AddRunFlag(cmd, &run, "the model of this run, not the newest; or name it PIPELINE/RUN")
	cmd.Flags().StringVar(&p.to, "to", ".", "folder to write to")
	cmd.Flags().BoolVar(&p.serving, "serving", false, "write <to>/<version>/saved_model.pb for TensorFlow Serving")
	cmd.Flags().BoolVar(&p.modelRun, "model-run", false, "copy its model_run too, to <to>/model_run")
	return cmd
}

// pull copies a model and, if asked to, its model_run.
func (p pulling) pull(ctx context.Context, a *app.App, model modelLine) (pulled, error) {
	got, err := p.model(ctx, model)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) {
		again := a.Command("replay --run " + app.Quoted(model.Run) + " --pipeline " + model.Pipeline)
		return got, exit.NotFound(fmt.Errorf("the model of run %s is gone: `%s` trains it again: %w", model.Run, again, err))
	}
	if err == nil && p.modelRun {
		got.Run, err = p.run(ctx, model)
	}
	if errors.Is(err, errOtherFiles) {
		return got, exit.Usage(err)
	}
	return got, err
}

func (p pulling) print(a *app.App, model modelLine, got pulled) error {
	if p.serving {
		if err := noteNewer(a, got.Path); err != nil {
			return err
		}
	}
	if p.modelRun && got.Run == "" {
		fmt.Fprintf(a.Notes(), "the model is copied; the store has no model_run for it: the training of run %s wrote none, or it was removed\n", model.Run)
	}
	return a.Print(got, func(w io.Writer) {
		fmt.Fprintln(w, got.Path)
		if got.Run != "" {
			fmt.Fprintln(w, got.Run)
		}
	})
}

// model copies a model, or the part of it for TensorFlow Serving. If two models have the same
// second as version, the second one gets the next free version.
func (p pulling) model(ctx context.Context, model modelLine) (got pulled, err error) {
	got.Model = model.Model
	if !p.serving {
		got.Path = filepath.Join(p.to, "model")
		return got, p.artifact(ctx, model.Model, "", got.Path)
	}
	for version := model.Finished.Unix(); ; version++ {
		got.Path = filepath.Join(p.to, strconv.FormatInt(version, 10))
		if err := p.artifact(ctx, model.Model, "Format-Serving", got.Path); !errors.Is(err, errOtherFiles) {
			return got, err
		}
	}
}

// noteNewer prints a note if the folder has a higher version than that of a model for TensorFlow
// Serving: versions are times of training, so an older model does not replace a newer one.
func noteNewer(a *app.App, path string) error {
	highest, err := strconv.ParseInt(filepath.Base(path), 10, 64)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	newer := ""
	for _, entry := range entries {
		if version, wrong := strconv.ParseInt(entry.Name(), 10, 64); wrong == nil && entry.IsDir() && version > highest {
			highest, newer = version, filepath.Join(filepath.Dir(path), entry.Name())
		}
	}
	if newer != "" {
		fmt.Fprintf(a.Notes(), "%s was trained later, and TensorFlow Serving serves the highest version by default: remove it, or configure the version\n", newer)
	}
	return err
}

// run copies a model's model_run, and returns its path: "" if the store has none.
func (p pulling) run(ctx context.Context, model modelLine) (string, error) {
	if model.ModelRun == "" {
		return "", nil
	}
	path := filepath.Join(p.to, "model_run")
	err := p.artifact(ctx, model.ModelRun, "", path)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("the model is copied, but its model_run is not: %w", err)
	}
	return path, nil
}

// errOtherFiles means that a destination holds other files than the artifact.
var errOtherFiles = errors.New("the folder holds other files: remove them, or name another folder with --to")

// artifact stages the artifact, or its folder source, next to its destination and moves it
// there in one step, so that a server that watches the folder never sees an incomplete model. A
// destination with the same files is left unchanged; one with other files is errOtherFiles.
func (p pulling) artifact(ctx context.Context, address, source, destination string) error {
	ref, err := storage.ParseRef(address)
	if err != nil {
		return err
	}
	listing, err := storage.List(ctx, p.store, ref)
	if err != nil {
		return err
	}
	if _, err := os.Stat(destination); err == nil {
		return holdsFiles(destination, listing.Files, source)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--to %s: %w", p.to, app.Cause(err))
	}
	to := filepath.Dir(destination)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("--to %s: %w", p.to, app.Cause(err))
	}
	half, err := os.MkdirTemp(to, ".pull-")
	if err != nil {
		return fmt.Errorf("--to %s: %w", p.to, app.Cause(err))
	}
	defer os.RemoveAll(half)
	for _, file := range listing.Files {
		p.work.Expect(file.Size)
	}
	if _, err := storage.StageIn(ctx, app.Counted(p.store, p.work), ref, half, storage.StageOptions{Listing: &listing}); err != nil {
		return err
	}
	from := filepath.Join(half, source)
	if err := os.Chmod(from, 0o755); err != nil {
		return err
	}
	return os.Rename(from, destination)
}

// holdsFiles returns nil if dir holds exactly the files of an artifact below source, with the same
// content, else errOtherFiles.
func holdsFiles(dir string, files []storage.File, source string) error {
	want := map[string]string{} // SHA-256 by path
	for _, file := range files {
		name, below := file.Path, true
		if source != "" {
			name, below = strings.CutPrefix(file.Path, source+"/")
		}
		if below {
			want[name] = file.SHA256
		}
	}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		sum, err := FileDigest(name)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(below)
		if want[key] != sum {
			return errOtherFiles
		}
		delete(want, key)
		return nil
	})
	if err == nil && len(want) > 0 {
		err = errOtherFiles
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// FileDigest returns the SHA-256 of a file in hexadecimal digits.
func FileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}
