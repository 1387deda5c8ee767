package savedmodel

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// Write writes the model into dir, which must not exist or be empty. saved_model.pb is written
// last, by renaming: a directory that has it is complete. The same model gives the same bytes.
func Write(dir string, m Model) error {
	return write(dir, m, false)
}

// Writable returns the error with which Write would refuse the model whatever its weights are, so
// that a training can fail before it begins.
func Writable(m Model) error {
	b, err := newBuilder(m)
	if err == nil {
		err = b.build()
	}
	if err != nil {
		return fmt.Errorf("as a SavedModel: %w", err)
	}
	return nil
}

func write(dir string, m Model, eval bool) error {
	b, err := newBuilder(m)
	if err == nil {
		b.eval = eval
		err = b.write(dir)
	}
	if err != nil {
		return fmt.Errorf("write SavedModel %s: %w", dir, err)
	}
	return nil
}

func (b *builder) write(dir string) error {
	if err := b.build(); err != nil {
		return err
	}
	return b.save(dir)
}

// save writes what was built.
func (b *builder) save(dir string) error {
	model, err := b.finish()
	if err != nil {
		return err
	}
	data, err := marshal(model)
	if err != nil {
		return err
	}
	if err := b.writeFolders(dir); err != nil {
		return err
	}
	if err := writeFingerprint(dir, model, data); err != nil {
		return err
	}
	name := filepath.Join(dir, "saved_model.pb")
	if err := os.WriteFile(name+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// writeFolders writes all but saved_model.pb and its fingerprint.
func (b *builder) writeFolders(dir string) error {
	if entries, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if len(entries) > 0 {
		return fmt.Errorf("folder isn't empty: it holds %s", entries[0].Name())
	}
	if err := os.MkdirAll(filepath.Join(dir, "variables"), 0o755); err != nil {
		return err
	}
	if err := b.copyAssets(filepath.Join(dir, "assets")); err != nil {
		return err
	}
	if err := b.writeClasses(dir); err != nil {
		return err
	}
	return tensorbundle.Write(filepath.Join(dir, "variables", "variables"), b.stored)
}

func (b *builder) copyAssets(dir string) error {
	for _, a := range b.assets {
		target := filepath.Join(dir, a.def.GetFilename())
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := copyFile(target, a.source); err != nil {
			return fmt.Errorf("asset %s: %w", a.def.GetFilename(), err)
		}
	}
	return nil
}

func copyFile(target, source string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close() // only read: nothing can be lost
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
