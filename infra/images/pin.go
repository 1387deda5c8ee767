package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// from matches a line that begins a stage: its base, perhaps with a digest, and the rest.
var from = regexp.MustCompile(`(?m)^FROM ([^\s@]+)(@sha256:[0-9a-f]{64})?( AS \S+)?$`)

// setting matches an ARG with a value, which FROM lines may use.
var setting = regexp.MustCompile(`(?m)^ARG (\w+)=(\S+)$`)

// Unpinned returns the base images of a Containerfile that are named without a digest. Stages of
// the file itself are not among them.
func Unpinned(text string) (images []string) {
	for _, base := range bases(text) {
		if base.digest == "" && !slices.Contains(images, base.image) {
			images = append(images, base.image)
		}
	}
	return images
}

// base is the base image of a stage.
type base struct{ image, digest string }

func bases(text string) (found []base) {
	var stages []string
	for _, match := range from.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(stages, match[1]) {
			found = append(found, base{match[1], match[2]})
		}
		stages = append(stages, strings.TrimPrefix(match[3], " AS "))
	}
	return found
}

// Pin sets the digest that each base's tag has now in its registry. Digests are those of an index,
// for all platforms, if there is one.
func Pin(text string, options ...remote.Option) (string, error) {
	values := map[string]string{}
	for _, match := range setting.FindAllStringSubmatch(text, -1) {
		values[match[1]] = match[2]
	}
	for _, b := range bases(text) {
		reference, err := name.ParseReference(os.Expand(b.image, func(key string) string { return values[key] }))
		if err != nil {
			return "", err
		}
		found, err := remote.Head(reference, options...)
		if err != nil {
			return "", fmt.Errorf("look up %s: %w", reference, err)
		}
		old, pinned := "FROM "+b.image+b.digest, "FROM "+b.image+"@"+found.Digest.String()
		text = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(old)+`( |$)`).ReplaceAllString(text, strings.ReplaceAll(pinned, "$", "$$")+"$1")
	}
	return text, nil
}

// pinFile pins the bases of a Containerfile.
func pinFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	pinned, err := Pin(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(pinned), 0o644)
}

// checkFile returns an error if a base of a Containerfile has no digest: images that are pushed
// have the bases that were examined.
func checkFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if images := Unpinned(string(text)); len(images) > 0 {
		return fmt.Errorf("%s: no digest of %s: run task image:pin, look at what changed, and commit it", file, strings.Join(images, ", "))
	}
	return nil
}
