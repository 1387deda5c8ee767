package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	var o Options
	flag.StringVar(&o.Binary, "binary", "../../bin/stoker", "stoker, linked statically")
	flag.StringVar(&o.Arch, "arch", "", "architecture of the binary (default this machine's)")
	flag.StringVar(&o.Certificates, "certificates", "", "authorities that are trusted (default this machine's)")
	version := flag.String("version", "dev", "version, for the label")
	to := flag.String("to", "../../bin/image", "folder for the OCI layout; what is there is replaced")
	pin := flag.Bool("pin", false, "write into the Containerfile the digests that its bases have now, and make nothing")
	check := flag.Bool("check", false, "fail if a base of the Containerfile has no digest, and make nothing")
	flag.Parse()
	if *pin || *check {
		do := checkFile
		if *pin {
			do = pinFile
		}
		if err := do("Containerfile"); err != nil {
			fmt.Fprintln(os.Stderr, "images:", err)
			os.Exit(1)
		}
		return
	}
	digest, err := write(o, *version, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// write makes the image that the Containerfile calls stoker, as an OCI layout.
func write(o Options, version, to string) (v1.Hash, error) {
	target, err := ReadTarget("Containerfile", "stoker", version)
	if err != nil {
		return v1.Hash{}, err
	}
	o.Config = target.Config
	// The files that the Containerfile copies from the sources.
	for _, source := range target.Copies["build"] {
		if below, ok := strings.CutPrefix(source, "/src/"); ok {
			o.Licenses = append(o.Licenses, filepath.Join("../..", below))
		}
	}
	image, err := Build(o)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := os.RemoveAll(to); err != nil {
		return v1.Hash{}, err
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image})
	if _, err := layout.Write(to, index); err != nil {
		return v1.Hash{}, err
	}
	return image.Digest()
}
