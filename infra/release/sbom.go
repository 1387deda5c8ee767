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
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom writes a CycloneDX 1.6 document of an archive: each file by its SHA-256, and each Go module
// in the binary, as `go version -m` lists them, with its checksum in Go's checksum
// database. It names no time and no machine, so that the same archive gives the same document.
func sbom(archive, version, document string) error {
	bom := cdx.NewBOM()
	files, program, thirdParty, err := readArchive(archive)
	if err != nil {
		return fmt.Errorf("sbom of %s: %w", archive, err)
	}
	if program == nil {
		return fmt.Errorf("sbom of %s: no program named stoker is in it", archive)
	}
	if err := addModules(bom, program, readThirdParty(thirdParty), version); err != nil {
		return fmt.Errorf("sbom of %s: %w", archive, err)
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

// readArchive lists the files of a .tar.gz, and returns what is written in the one that is Stoker,
// and THIRD_PARTY.txt.
func readArchive(archive string) (files []cdx.Component, program *debug.BuildInfo, thirdParty string, err error) {
	in, err := os.Open(archive)
	if err != nil {
		return nil, nil, "", err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return nil, nil, "", err
	}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files, program, thirdParty, nil
		}
		if err != nil {
			return nil, nil, "", err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, nil, "", err
		}
		digest := sha256.Sum256(content)
		files = append(files, cdx.Component{
			BOMRef: "file:" + header.Name, Type: cdx.ComponentTypeFile, Name: header.Name,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		})
		switch path.Base(header.Name) {
		case "THIRD_PARTY.txt":
			thirdParty = string(content)
		case "stoker":
			if program, err = buildinfo.Read(bytes.NewReader(content)); err != nil {
				return nil, nil, "", fmt.Errorf("%s: %w", header.Name, err)
			}
		}
	}
}

// addModules adds the program and the modules that it was linked from, each with its licenses. A
// module that THIRD_PARTY.txt lacks, or has in another version, is an error.
func addModules(bom *cdx.BOM, info *debug.BuildInfo, known []licensed, version string) error {
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: info.Main.Path, Type: cdx.ComponentTypeApplication, Name: "stoker", Version: version,
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + version,
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}}
	components := []cdx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	components[0].Licenses = &cdx.Licenses{{Expression: "BSD-3-Clause"}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		at := slices.IndexFunc(known, func(l licensed) bool { return l.name == m.Path && l.version == m.Version })
		if at < 0 {
			return fmt.Errorf("THIRD_PARTY.txt does not name %s %s", m.Path, m.Version)
		}
		c := module(m.Path, m.Version, m.Sum)
		c.Licenses = &cdx.Licenses{{Expression: known[at].expression}}
		components = append(components, c)
	}
	bom.Components = &components
	return nil
}

// licensed is a component as THIRD_PARTY.txt names it.
type licensed struct{ name, version, expression string }

// readThirdParty reads the list that THIRD_PARTY.txt begins with, up to the first text: a line with
// name and version, and below it, indented, one with the licenses and one with the address of the
// source.
func readThirdParty(text string) (all []licensed) {
	list, _, _ := strings.Cut(text, "\n====")
	lines := strings.Split(list, "\n")
	for i := 0; i+2 < len(lines); i++ {
		words := strings.Fields(lines[i])
		expression, indented := strings.CutPrefix(lines[i+1], "    ")
		if len(words) == 2 && indented && strings.HasPrefix(lines[i+2], "    http") {
			all = append(all, licensed{words[0], words[1], expression})
		}
	}
	return all
}

// module returns a component of a Go module. sum is how go.sum writes it: h1: and a hash of the
// hashes of its files. It is not the digest of any one file, and is therefore a property.
func module(path, version, sum string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "stoker:go.sum", Value: sum}}
	}
	return c
}
