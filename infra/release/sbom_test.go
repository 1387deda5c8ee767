package main

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const thirdParty = `Third-party software

example.com/m v1.2.3
    Apache-2.0 AND MIT
    https://proxy.golang.org/example.com/m/@v/v1.2.3.zip

================================================================================
example.com/m: LICENSE
================================================================================

example.com/none v1.0.0
    GPL-3.0
    https://example.com
`

func TestTheSBOMSaysEachLicense(t *testing.T) {
	t.Parallel()
	bom := cdx.NewBOM()
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/m", Version: "v1.2.3"}}}
	must(t, addModules(bom, info, readThirdParty(thirdParty), "v1"))
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.PackageURL+" "+(*c.Licenses)[0].Expression)
	}
	if want := []string{"pkg:golang/std@1.26.8 BSD-3-Clause", "pkg:golang/example.com/m@v1.2.3 Apache-2.0 AND MIT"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, m := range []debug.Module{{Path: "example.com/m", Version: "v1.2.4"}, {Path: "example.com/none", Version: "v1.0.0"}} {
		info.Deps = []*debug.Module{&m}
		if err := addModules(cdx.NewBOM(), info, readThirdParty(thirdParty), "v1"); err == nil || !strings.Contains(err.Error(), "does not name "+m.Path) {
			t.Errorf("%s %s: %v", m.Path, m.Version, err)
		}
	}
}
