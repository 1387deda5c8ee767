package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom writes a CycloneDX 1.6 document of an archive: each file by its SHA-256, and each Go module in the binary, as `go version -m` lists
// them, with the checksum that Go's own database knows it by. It names no time and no machine, so that the same archive gives the
// same document.
func sbom(archive, version, document string) error {
	bom := cdx.NewBOM()
	files, err := readArchive(archive, func(info *debug.BuildInfo) { addModules(bom, info, version) })
	if err != nil {
		return fmt.Errorf("sbom of %s: %w", archive, err)
	}
	if bom.Metadata == nil {
		return fmt.Errorf("sbom of %s: no program named stoker is in it", archive)
	}
	components := append(*bom.Components, files...)
	bom.Components = &components
	out, err := os.Create(document)
	if err != nil {
		return err
	}
	err = cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return errors.Join(err, out.Close())
}

// readArchive lists the files of a .tar.gz, and hands over what is written in the one that is Stoker.
func readArchive(archive string, program func(*debug.BuildInfo)) ([]cdx.Component, error) {
	in, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	var files []cdx.Component
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(content)
		files = append(files, cdx.Component{
			BOMRef: "file:" + header.Name, Type: cdx.ComponentTypeFile, Name: header.Name,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		})
		if path.Base(header.Name) != "stoker" {
			continue
		}
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", header.Name, err)
		}
		program(info)
	}
}

// addModules says what the document is of, and which modules the program was linked from.
func addModules(bom *cdx.BOM, info *debug.BuildInfo, version string) {
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: info.Main.Path, Type: cdx.ComponentTypeApplication, Name: "stoker", Version: version,
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + version,
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}}
	components := []cdx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, module(m.Path, m.Version, m.Sum))
	}
	bom.Components = &components
}

// module is a component of a Go module. sum is how go.sum writes it: h1: and a hash of the hashes of its files, which is no digest of
// any one file, and so a property.
func module(path, version, sum string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "stoker:go.sum", Value: sum}}
	}
	return c
}
