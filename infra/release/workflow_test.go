package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// workflow is the part of a GitHub workflow that the checks read.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Strategy    struct{ Matrix struct{ Target []string } }
		Steps       []struct {
			ID, Uses, Run string
			With          map[string]any
			Env           map[string]string
		}
	}
}

var pinned = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)

// faultsOf returns the faults of a release workflow: an action that others can change, an
// unnecessary permission, a release that is not signed or has no provenance.
func faultsOf(text string) (faults []string, err error) {
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		return nil, err
	}
	job := w.Jobs["release"]
	rights := map[string]string{"contents": "write", "id-token": "write", "attestations": "write"}
	if len(w.Permissions) > 0 || !maps.Equal(job.Permissions, rights) {
		faults = append(faults, "permissions")
	}
	order := []string{}
	for _, step := range job.Steps {
		switch {
		case step.Uses != "" && !pinned.MatchString(step.Uses):
			faults = append(faults, step.Uses+" is not pinned by a commit")
		case strings.HasPrefix(step.Uses, "actions/attest-build-provenance@"):
			if step.With["subject-checksums"] == "bin/release/SHA256SUMS" {
				order = append(order, "provenance")
			}
		case strings.HasPrefix(step.Uses, "sigstore/cosign-installer@"):
			order = append(order, "cosign")
		case strings.Contains(step.Run, "goreleaser release"):
			order = append(order, "release")
			if strings.Contains(step.Run, "--skip") || strings.Contains(step.Run, "--snapshot") {
				faults = append(faults, "the release leaves something out")
			}
		}
	}
	if !slices.Equal(order, []string{"cosign", "release", "provenance"}) {
		faults = append(faults, "steps are "+strings.Join(order, ", "))
	}
	return append(faults, imageFaults(w)...), nil
}

// imageFaults returns the faults of the job that publishes the images: one that is pushed without a
// signature, an SBOM or provenance of the digest that was pushed.
func imageFaults(w workflow) (faults []string) {
	job := w.Jobs["image"]
	rights := map[string]string{"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"}
	if !maps.Equal(job.Permissions, rights) {
		faults = append(faults, "permissions of images")
	}
	if !slices.Equal(job.Strategy.Matrix.Target, []string{"stoker", "python", "estimator", "cuda"}) {
		faults = append(faults, "not all images are published")
	}
	const digest = "${{ steps.push.outputs.digest }}"
	order := []string{}
	note := func(text, step, of string) {
		if strings.Contains(text, of) {
			order = append(order, step)
		}
	}
	for _, step := range job.Steps {
		if step.Uses != "" && !pinned.MatchString(step.Uses) {
			faults = append(faults, step.Uses+" is not pinned by a commit")
		}
		if strings.HasPrefix(step.Uses, "sigstore/cosign-installer@") {
			order = append(order, "cosign")
		}
		if strings.HasPrefix(step.Uses, "actions/attest-build-provenance@") && step.With["subject-digest"] == digest && step.With["push-to-registry"] == true {
			order = append(order, "provenance")
		}
		note(step.Run, "bases", "run . -check")
		note(step.Run, "build", "task image")
		note(step.Run, "sbom", "run . sbom")
		if step.ID == "push" {
			note(step.Run, "push", "skopeo copy --digestfile digest")
		}
		if step.Env["DIGEST"] == digest {
			note(step.Run, "signature", `cosign sign --yes "$IMAGE@$DIGEST"`)
			note(step.Run, "sbom of the image", `cosign attest --yes --type cyclonedx --predicate bin/image.cdx.json "$IMAGE@$DIGEST"`)
		}
	}
	if !slices.Equal(order, []string{"cosign", "bases", "build", "sbom", "push", "signature", "sbom of the image", "provenance"}) {
		faults = append(faults, "steps of images are "+strings.Join(order, ", "))
	}
	return faults
}

func TestTheWorkflowSignsAndAttests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	must(t, err)
	faults, err := faultsOf(string(text))
	must(t, err)
	if len(faults) > 0 {
		t.Error(faults)
	}
	for old, with := range map[string]string{
		"@3d3c42e5aac5ba805825da76410c181273ba90b1": "@v7",
		"release --clean":           "release --skip=sign --clean",
		"permissions: {}":           "permissions: {packages: write}",
		"subject-checksums":         "subject-name",
		"sigstore/cosign-installer": "sigstore/other",
		"packages: write":           "packages: read",
		"estimator, cuda]":          "estimator]",
		"run . -check":              "run .",
		"cosign sign":               "cosign version",
		"$IMAGE@$DIGEST":            "$IMAGE:latest",
		"cosign attest":             "cosign version",
		"subject-digest":            "subject-checksum",
	} {
		if !strings.Contains(string(text), old) {
			t.Fatalf("the workflow has no %s", old)
		}
		if faults, err := faultsOf(strings.Replace(string(text), old, with, 1)); err != nil || len(faults) == 0 {
			t.Errorf("%s instead of %s is no fault: %v", with, old, err)
		}
	}
}

// The signed file is the one with the checksums of all published files; there is no private key
// that could be stolen.
func TestTheSumsAreSignedWithoutAKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("goreleaser.yaml")
	must(t, err)
	var config struct {
		Signs []struct {
			Cmd, Artifacts, Signature string
			Args                      []string
		}
	}
	must(t, yaml.Unmarshal(text, &config))
	if len(config.Signs) != 1 {
		t.Fatalf("%d signatures, want 1", len(config.Signs))
	}
	s := config.Signs[0]
	if want := []string{"sign-blob", "--yes", "--bundle=${signature}", "${artifact}"}; s.Cmd != "cosign" || s.Artifacts != "checksum" ||
		s.Signature != "${artifact}.sigstore.json" || !slices.Equal(s.Args, want) {
		t.Errorf("%+v", s)
	}
}
