package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each component has a license that is allowed, or collect fails; and what programs carry is of the
// modules in go.mod.
func TestThirdPartyTextsAreCurrent(t *testing.T) {
	t.Parallel()
	components, err := collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../functions/stoker/third_party.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, texts(components)) {
		t.Error("functions/stoker/third_party.txt is not current: run go generate ./functions/stoker")
	}
	names := map[string]string{}
	for _, c := range components {
		names[c.name] = c.expression()
	}
	for name, want := range map[string]string{
		"Go": "BSD-3-Clause", "github.com/nats-io/nats-server/v2": "Apache-2.0",
		"gorgonia.org/cu": "Apache-2.0",
	} {
		if names[name] != want {
			t.Errorf("%s is under %q, want %q", name, names[name], want)
		}
	}
}

// Servers that tests run, and clients of services that Stoker has no part of, must not come back
// into the programs.
func TestNoServerOfTestsAndNoClientOfOtherServicesIsLinked(t *testing.T) {
	t.Parallel()
	components, err := collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	unwanted := regexp.MustCompile("versitygw|fasthttp|fiber|minio/minio$|hashicorp|ldap|kafka|rabbitmq|statsd|aws-sdk-go-v2/service/s3$")
	for _, c := range components {
		if unwanted.MatchString(c.name) {
			t.Errorf("%s is linked", c.name)
		}
	}
}

func TestLicensesThatAreNotAllowedAreErrors(t *testing.T) {
	t.Parallel()
	const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
	const agpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version. This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU Affero General Public License for more details.`
	for name, test := range map[string]struct {
		texts []text
		want  string // "" for no error
	}{
		"allowed":        {[]text{{"LICENSE", mit}, {"NOTICE", "Made by us."}}, ""},
		"not allowed":    {[]text{{"LICENSE", agpl}}, "LICENSE is AGPL-3.0-or-later, which is not allowed"},
		"one of several": {[]text{{"LICENSE", mit}, {"sub/COPYING", agpl}}, "sub/COPYING is AGPL-3.0-or-later, which is not allowed"},
		"unknown":        {[]text{{"LICENSE", "Ask me."}}, "LICENSE is no license that is known"},
		"a notice alone": {[]text{{"NOTICE", "Made by us."}}, "no file with a license"},
		"none":           {nil, "no file with a license"},
	} {
		c := component{name: "example.com/m", version: "v1.0.0", texts: test.texts}
		err := c.classify()
		switch {
		case test.want == "" && (err != nil || !slices.Equal(c.licenses, []string{"MIT"})):
			t.Errorf("%s: %v, licenses %q", name, err, c.licenses)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), "example.com/m v1.0.0: "+test.want)):
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// Texts are found at the top of a module and on the way to what is linked, and nowhere else.
func TestTextsAreThoseOfLinkedFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"LICENSE.md", "NOTICE", "license.go", "a/COPYING", "a/b/x.LICENSE", "a/c/LICENSE", "d/LICENSE"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := moduleTexts(&module{Dir: dir, packages: []string{dir, filepath.Join(dir, "a/b")}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, text := range found {
		names = append(names, text.name)
	}
	if want := []string{"LICENSE.md", "NOTICE", "a/COPYING", "a/b/x.LICENSE"}; !slices.Equal(names, want) {
		t.Errorf("found %q, want %q", names, want)
	}
}

// THIRD_PARTY.txt names modules only: a copy of others' work in this module would be missing there.
func TestALicenseInOurOwnModuleIsAnError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "functions", "new")
	if err := os.MkdirAll(filepath.Join(dir, "static"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := noCopies(root, []string{dir}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "static", "chart.LICENSE"), []byte("Ask me."), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := noCopies(root, []string{dir}); err == nil || !strings.Contains(err.Error(), "functions/new/static/chart.LICENSE: a license of others") {
		t.Errorf("error %v", err)
	}
}
