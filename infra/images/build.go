package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User is the user that containers run as: the nonroot user of distroless.
const User = 65532

// Options are those of Build.
type Options struct {
	Binary       string // of stoker, static, for Arch
	Arch         string // default: this machine's
	Certificates string // file with the authorities that are trusted; default: that of the machine
	// Files for /usr/share/doc/stoker: the license, notices, and those of others.
	Licenses []string
	Created  time.Time // default: 1970, so that the same binary gives the same image
	Config   v1.Config
}

// Build makes an image of two layers: the base, which changes when the certificates do, and the
// binary.
func Build(o Options) (v1.Image, error) {
	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}
	if o.Certificates == "" {
		o.Certificates = "/etc/ssl/certs/ca-certificates.crt"
	}
	base, err := baseFiles(o.Certificates)
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(o.Binary)
	if err != nil {
		return nil, err
	}
	if o.Created.IsZero() {
		o.Created = time.Unix(0, 0).UTC()
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	top := []file{{name: "usr/bin/stoker", mode: 0o755, content: binary}}
	for _, name := range o.Licenses {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		top = append(top, file{name: "usr/share/doc/stoker/" + filepath.Base(name), mode: 0o644, content: content})
	}
	for _, files := range [][]file{base, top} {
		if image, err = appendLayer(image, files, o.Created); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Config = "linux", o.Arch, v1.Time{Time: o.Created}, o.Config
	return mutate.ConfigFile(image, config)
}

// file is a file of a layer; without content it is a directory.
type file struct {
	name    string
	mode    int64
	content []byte
}

// baseFiles returns the files that a static program needs of a system: users, certificate
// authorities, and a directory for temporary files.
func baseFiles(certificates string) ([]file, error) {
	trusted, err := os.ReadFile(certificates)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return []file{
		{name: "etc", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n")},
		{name: "etc/ssl", mode: 0o755},
		{name: "etc/ssl/certs", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: trusted},
		{name: "tmp", mode: 0o1777},
		{name: "usr", mode: 0o755},
		{name: "usr/bin", mode: 0o755},
		{name: "usr/share", mode: 0o755},
		{name: "usr/share/doc", mode: 0o755},
		{name: "usr/share/doc/stoker", mode: 0o755},
	}, nil
}

func appendLayer(image v1.Image, files []file, created time.Time) (v1.Image, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created, Typeflag: tar.TypeReg}
		if f.content == nil {
			header.Name, header.Typeflag = f.name+"/", tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layer)
}

// Unpack writes the files of an image below dir, as a runtime does before it starts a container.
func Unpack(image v1.Image, dir string) error {
	content := mutate.Extract(image)
	defer content.Close()
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackOne(header, files, dir); err != nil {
			return err
		}
	}
}

func unpackOne(header *tar.Header, content io.Reader, dir string) error {
	if !filepath.IsLocal(header.Name) {
		return fmt.Errorf("%s leaves the image", header.Name)
	}
	path, mode := filepath.Join(dir, header.Name), header.FileInfo().Mode()
	if header.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		return os.Chmod(path, mode)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	// The upper layer's files come first.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, mode)
}
