package kube

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// images are those of one static program each, by their names in ImageName, with its path inside.
var images = map[string]string{
	"pause": "/pause", "dial": "/dial", "coredns": "/coredns", "nats-server": "/nats-server", "versitygw": "/versitygw",
	"keda": "/keda", "keda-admission-webhooks": "/keda-admission-webhooks",
	"jobset": "/manager",
}

// ImageName is the name under which nodes have an image. They never pull one.
func ImageName(image string) string { return "stoker.test/" + image + ":test" }

// stokerImage is the name that the chart gives Stoker's image.
const stokerImage = "ghcr.io/stoker-ml/stoker:0.1.0"

// makeImages writes the images that nodes import: those of programs, and the one that `task image`
// has made as an OCI layout.
func (s *Server) makeImages(stoker string) error {
	if err := os.MkdirAll(s.Path("images"), 0o755); err != nil {
		return err
	}
	for image, program := range images {
		made, err := imageOf(filepath.Join(s.binaries, image), program)
		if err == nil {
			err = s.writeImage(image, ImageName(image), made)
		}
		if err != nil {
			return fmt.Errorf("image %s: %w", image, err)
		}
	}
	index, err := layout.ImageIndexFromPath(stoker)
	if err != nil {
		return fmt.Errorf("%s: %w: task image makes it", stoker, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	made, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return err
	}
	return s.writeImage("stoker", stokerImage, made)
}

func (s *Server) writeImage(file, reference string, image v1.Image) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(s.Path("images/"+file+".tar"), tag, image)
}

// imageOf makes an image of a static program, which can write to /tmp.
func imageOf(file, program string) (v1.Image, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	for _, header := range []tar.Header{{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, {Name: program[1:], Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(content))}} {
		if err := files.WriteHeader(&header); err != nil {
			return nil, err
		}
	}
	if _, err := files.Write(content); err != nil {
		return nil, err
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	made, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, made)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config = v1.Config{Entrypoint: []string{program}, User: "65532", WorkingDir: "/tmp"}
	return mutate.ConfigFile(image, config)
}
