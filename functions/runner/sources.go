package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
)

// goPackage is what `go list -json` tells of one package.
type goPackage struct {
	ImportPath string
	Dir        string
	Name       string
	Standard   bool
	Module     *goModule

	GoFiles, CgoFiles, CFiles, CXXFiles, HFiles, SFiles, SysoFiles, EmbedFiles []string
}

type goModule struct {
	Path, Version, Sum, GoVersion, Dir string

	Replace *goModule
}

// settings are what the result of a build depends on besides its sources.
var settings = []string{"GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOFLAGS", "GOEXPERIMENT",
	"CGO_ENABLED", "CGO_CFLAGS", "CGO_LDFLAGS"}

// sourceDigest is the SHA-256 of everything that a program is built from: compiler, settings, the files of its own packages,
// and the sums of the modules that the rest comes from.
func (h *Runner) sourceDigest(ctx context.Context, folder string) (string, error) {
	packages, err := h.listPackages(ctx, folder)
	if err != nil {
		return "", err
	}
	return h.packagesDigest(ctx, folder, packages)
}

// goQuery runs a go command that builds nothing and fetches what the sources import. The go command follows links and quotes what it does not
// understand: it can read no more than the module itself.
func (h *Runner) goQuery(ctx context.Context, folder string, args ...string) ([]byte, error) {
	return h.goCommand(ctx, folder, "", args...)
}

func (h *Runner) packagesDigest(ctx context.Context, folder string, packages []goPackage) (string, error) {
	env, err := h.goQuery(ctx, folder, append([]string{"env"}, settings...)...)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "settings %q\n", env)
	for _, p := range packages {
		if err := p.addTo(sum); err != nil {
			return "", fail(KindHost, fmt.Errorf("digest of module %s: %w", folder, err))
		}
	}
	return digestText(sum.Sum(nil)), nil
}

// listPackages lists the program in folder and all that it imports, itself last.
func (h *Runner) listPackages(ctx context.Context, folder string) ([]goPackage, error) {
	const fields = "-json=ImportPath,Dir,Name,Standard,Module,GoFiles,CgoFiles,CFiles,CXXFiles,HFiles,SFiles,SysoFiles,EmbedFiles"
	out, err := h.goQuery(ctx, folder, "list", "-deps", fields, ".")
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fail(KindHost, fmt.Errorf("read what go list says of %s: %w", folder, err))
		}
		packages = append(packages, p)
	}
	if last := packages[len(packages)-1]; last.Name != "main" {
		return nil, fail(KindModule, fmt.Errorf("module %s is package %s, expected main: a program that calls module.Main",
			folder, last.Name))
	}
	return packages, nil
}

// addTo adds a package: by its module's sum if that says what is in it, else by its files. The standard library
// goes with the compiler's version.
func (p goPackage) addTo(sum hash.Hash) error {
	if p.Standard {
		return nil
	}
	m := p.Module.actual()
	if m.Sum != "" {
		fmt.Fprintf(sum, "module %q %q %q\n", m.Path, m.Version, m.Sum)
		return nil
	}
	fmt.Fprintf(sum, "package %q in Go %q\n", p.ImportPath, m.GoVersion)
	files := slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.CXXFiles, p.HFiles, p.SFiles, p.SysoFiles, p.EmbedFiles)
	slices.Sort(files)
	for _, name := range files {
		content := sha256.New()
		if err := addFile(content, filepath.Join(p.Dir, name)); err != nil {
			return err
		}
		fmt.Fprintf(sum, "file %q %x\n", name, content.Sum(nil))
	}
	return nil
}

// actual is the module that is really used; the zero one for a package without.
func (m *goModule) actual() goModule {
	switch {
	case m == nil:
		return goModule{}
	case m.Replace != nil:
		return *m.Replace
	default:
		return *m
	}
}
