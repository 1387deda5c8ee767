package kube

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	if err := os.MkdirAll(s.Path("images/later"), 0o755); err != nil {
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
	made, err := readLayout(stoker)
	if err != nil {
		return fmt.Errorf("%w: task image makes it", err)
	}
	return s.writeImage("stoker", stokerImage, made)
}

// readLayout reads the only image of an OCI layout.
func readLayout(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s: %d images, expected one", dir, len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}

// ImportPython has nodes import Stoker's image with Python, an OCI layout, with another program of
// Stoker: the image takes minutes to make, and may be older.
func (s *Server) ImportPython(ctx context.Context, dir, program string, nodes ...string) error {
	image, err := readLayout(dir)
	if err != nil {
		return fmt.Errorf("%w: task image:python makes it", err)
	}
	layer, err := layerOf(program, "/usr/bin/stoker")
	if err != nil {
		return err
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return err
	}
	if err := s.writeImage("later/python", stokerImage+"-python", image); err != nil {
		return err
	}
	for _, node := range nodes {
		socket := fmt.Sprintf("/proc/%d/root/run/containerd/containerd.sock", s.nodes[node])
		cmd := exec.CommandContext(ctx, filepath.Join(s.binaries, "root/usr/bin/ctr"), "--address", socket, "-n", "k8s.io", "images", "import", s.Path("images/later/python.tar"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: import the image with Python: %w\n%s", node, err, out)
		}
	}
	return os.Remove(s.Path("images/later/python.tar"))
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
	layer, err := layerOf(file, program)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
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

// layerOf makes a layer of a program, and of a /tmp that everyone can write to.
func layerOf(file, program string) (v1.Layer, error) {
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
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
}
