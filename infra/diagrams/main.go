// Command diagrams renders each D2 source below a folder as an SVG file next to it:
//
//	go -C infra/diagrams run . ../docs
//
// A picture names the SHA-256 of its source, so that the tests of infra/docs notice a source that
// was changed without its picture. It adapts to light and dark color schemes, and uses no font or
// file from elsewhere.
//
// The renderer is a module of its own: Stoker and its other tools are built without it.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"oss.terrastruct.com/d2/d2graph"
	"oss.terrastruct.com/d2/d2layouts/d2dagrelayout"
	"oss.terrastruct.com/d2/d2lib"
	"oss.terrastruct.com/d2/d2renderers/d2svg"
	"oss.terrastruct.com/d2/d2themes/d2themescatalog"
	"oss.terrastruct.com/d2/lib/log"
	"oss.terrastruct.com/d2/lib/textmeasure"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: diagrams FOLDER")
		os.Exit(2)
	}
	ctx := log.With(context.Background(), slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "diagrams:", err)
		os.Exit(1)
	}
}

// run renders all sources below a folder.
func run(ctx context.Context, folder string) error {
	sources, err := find(folder)
	if err != nil {
		return err
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		picture, err := render(ctx, filepath.Base(source), text)
		if err != nil {
			return fmt.Errorf("render %s: %w", source, err)
		}
		if err := os.WriteFile(pictureOf(source), picture, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// find returns the D2 sources below a folder.
func find(folder string) (sources []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".d2" {
			sources = append(sources, path)
		}
		return err
	})
	if err == nil && len(sources) == 0 {
		err = errors.New(folder + ": no D2 source")
	}
	return sources, err
}

// pictureOf returns the path of the picture that is made from a source.
func pictureOf(source string) string { return strings.TrimSuffix(source, ".d2") + ".svg" }

// padding is the space around a picture, in pixels.
const padding = 16

// render returns the SVG of a source. Equal sources give equal bytes.
func render(ctx context.Context, name string, source []byte) ([]byte, error) {
	ruler, err := textmeasure.NewRuler()
	if err != nil {
		return nil, err
	}
	space, bare := int64(padding), true
	options := &d2svg.RenderOpts{
		Pad: &space, NoXMLTag: &bare, OmitVersion: &bare,
		ThemeID: &d2themescatalog.NeutralDefault.ID, DarkThemeID: &d2themescatalog.DarkMauve.ID,
	}
	layout := func(string) (d2graph.LayoutGraph, error) { return d2dagrelayout.DefaultLayout, nil }
	diagram, _, err := d2lib.Compile(ctx, string(source), &d2lib.CompileOptions{Ruler: ruler, LayoutResolver: layout}, options)
	if err != nil {
		return nil, err
	}
	svg, err := d2svg.Render(diagram, options)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("<!-- Made from %s (sha256:%x) by task docs:diagrams. -->\n", name, sha256.Sum256(source))
	return append([]byte(head), append(svg, '\n')...), nil
}
