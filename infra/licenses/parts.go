package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// part is others' work of which this repository holds a copy with a license of its own. (What is
// under this repository's own license, NOTICE names.)
type part struct {
	name      string
	folder    string         // that holds the texts
	texts     []string       // files there
	source    string         // address of the source; VERSION in it is the version
	versionIn string         // file that contains the version
	version   *regexp.Regexp // with one group
}

var parts = []part{
	{
		name: "uPlot", folder: "functions/console/static", texts: []string{"uPlot.LICENSE"},
		source:    "https://registry.npmjs.org/uplot/-/uplot-VERSION.tgz",
		versionIn: "functions/console/vendor.sh", version: regexp.MustCompile(`(?m)^version=(\S+)$`),
	},
}

func (p part) component(root string) (component, error) {
	c := component{name: p.name}
	said, err := os.ReadFile(filepath.Join(root, p.versionIn))
	if err != nil {
		return c, err
	}
	match := p.version.FindSubmatch(said)
	if match == nil {
		return c, fmt.Errorf("%s: %s does not say which version it is", p.name, p.versionIn)
	}
	c.version = string(match[1])
	c.source = strings.ReplaceAll(p.source, "VERSION", c.version)
	for _, name := range p.texts {
		content, err := os.ReadFile(filepath.Join(root, p.folder, name))
		if err != nil {
			return c, err
		}
		c.texts = append(c.texts, text{name, normal(string(content))})
	}
	return c, c.classify()
}

// unnamed returns an error for each legal file in the folders of our own linked packages that
// belongs to no part.
func unnamed(root string, packages []string) error {
	known := map[string]bool{}
	for _, p := range parts {
		for _, name := range p.texts {
			known[filepath.Join(p.folder, name)] = true
		}
	}
	var faults []error
	slices.SortFunc(packages, cmp.Compare)
	for _, dir := range packages {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case entry.IsDir() || !isLegal(entry.Name()):
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if !known[name] {
				faults = append(faults, fmt.Errorf("%s: a license of others that no part names", name))
				known[name] = true
			}
			return nil
		})
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
