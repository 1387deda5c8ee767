package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licenses under which others' work may be in a program, by SPDX identifier. Those
// of the GPL family are none of them. MPL-2.0 requires that recipients are informed where to get
// the source code, which the address of each component does.
var allowed = strings.Fields("0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MPL-2.0 Unlicense Zlib")

// grants are texts that accompany a license and are none themselves.
var grants = strings.Fields("GooglePatentsFile GooglePatentClause")

// readByHand are licenses of texts that name more, or less, than what is linked, by component and
// file.
var readByHand = map[string]string{
	// It lists the licenses of the code that Arrow's C++ and other libraries contain. The Go
	// packages are Apache's own.
	"github.com/apache/arrow/go/arrow LICENSE.txt": "Apache-2.0",
}

// classify finds the licenses of a component in its texts. A component without a license, or with
// one that is not allowed, is an error.
func (c *component) classify() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s %s: %w", c.name, c.version, fmt.Errorf(format, args...)))
	}
	for _, t := range c.texts {
		if isNotice(t.name) {
			continue
		}
		found := scan(t.content)
		if known := readByHand[c.name+" "+t.name]; known != "" {
			found = []string{known}
		}
		if len(found) == 0 {
			fault("%s is no license that is known", t.name)
		}
		for _, id := range found {
			switch {
			case slices.Contains(grants, id), slices.Contains(c.licenses, id):
			case !slices.Contains(allowed, id):
				fault("%s is %s, which is not allowed", t.name, id)
			default:
				c.licenses = append(c.licenses, id)
			}
		}
	}
	slices.Sort(c.licenses)
	if len(c.licenses) == 0 {
		fault("no file with a license")
	}
	return errors.Join(faults...)
}

func isNotice(name string) bool {
	return strings.HasPrefix(strings.ToLower(path.Base(name)), "notice")
}

// scan returns the SPDX identifiers of the licenses that a text holds in full.
func scan(content string) (ids []string) {
	for _, match := range licensecheck.Scan([]byte(content)).Match {
		if !match.IsURL && !slices.Contains(ids, match.ID) {
			ids = append(ids, match.ID)
		}
	}
	return ids
}

// expression returns an SPDX expression: all of the licenses hold, each for files of its own.
func (c component) expression() string { return strings.Join(c.licenses, " AND ") }

const head = `Third-party software in Stoker

Stoker's programs are made of the components below, under the licenses named. The texts of these licenses and the notices of the
components follow. Stoker itself is licensed under the Apache License, Version 2.0: see LICENSE and NOTICE.
`

const rule = "================================================================================"

// texts returns all components with the addresses of their source code, then each text once, under
// the names of those that have it.
func texts(components []component) []byte {
	var out strings.Builder
	out.WriteString(head)
	owners, order := map[string][]string{}, []string{}
	for _, c := range components {
		fmt.Fprintf(&out, "\n%s %s\n    %s\n    %s\n", c.name, c.version, c.expression(), c.source)
		for _, t := range c.texts {
			if owners[t.content] == nil {
				order = append(order, t.content)
			}
			owners[t.content] = append(owners[t.content], c.name+": "+t.name)
		}
	}
	for _, content := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s", rule, strings.Join(owners[content], "\n"), rule, content)
	}
	return []byte(out.String())
}
