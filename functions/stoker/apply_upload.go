package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/functions/guest/snapshot"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// uploadModule puts a module of this machine into the store, below modules/<digest>, and returns it by its address there. Its content
// decides the address, so that a pipeline that is applied again unchanged stays what it is, and nothing there ever changes.
func (a *app) uploadModule(ctx context.Context, source module.Source) (module.Source, error) {
	if !isPath(source.Path) {
		return source, exit.Usage(fmt.Errorf("--upload: %s is no module of this machine", source.Path))
	}
	err := a.withStore(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) (err error) {
		source, err = putModule(ctx, store, root.Join("modules"), source)
		return err
	})
	return source, err
}

func putModule(ctx context.Context, store storage.Store, root storage.Ref, source module.Source) (module.Source, error) {
	if snapshot.IsPython(source.Path) {
		return putPython(ctx, store, root, source)
	}
	info, err := os.Stat(source.Path)
	if err != nil {
		return source, err
	}
	if info.IsDir() {
		return source, fmt.Errorf("--upload: %s is a Go program that is not built: build it for the machines of your workers, "+
			"and name the program", source.Path)
	}
	digest, err := fileDigest(source.Path)
	if err != nil {
		return source, err
	}
	to := root.Join(digest, filepath.Base(source.Path))
	_, err = storage.PutFile(ctx, store, to, source.Path)
	source.Path = to.String()
	return source, err
}

// putPython uploads the files of a TFX module as a folder, which does not say by itself which file was named.
func putPython(ctx context.Context, store storage.Store, root storage.Ref, source module.Source) (module.Source, error) {
	files, err := takeModule(ctx, source.Path)
	if err != nil {
		return source, err
	}
	alone, err := takeModule(ctx, files.Dir)
	if err != nil {
		return source, err
	}
	if alone.File != files.File && !strings.Contains(source.RunFn+source.TunerFn, ".") {
		return source, fmt.Errorf("--upload: the files beside %s go along, and some define what it defines: name the function, "+
			"as in run_fn: %s.run_fn", source.Path, strings.TrimSuffix(files.File, filepath.Ext(files.File)))
	}
	names, err := files.Names(ctx)
	if err != nil {
		return source, err
	}
	to := root.Join(strings.TrimPrefix(files.Digest, "sha256:"))
	for _, name := range names {
		if _, err := storage.PutFile(ctx, store, to.Join(name), filepath.Join(files.Dir, filepath.FromSlash(name))); err != nil {
			return source, err
		}
	}
	source.Path = to.String()
	return source, nil
}

func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}
