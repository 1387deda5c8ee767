package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences under which others' work may be in a program, by SPDX identifier. Those
// of the GPL family are none of them. MPL-2.0 requires that recipients are informed where to get
// the source code, which the address of each component does.
var allowed = strings.Fields("0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MPL-2.0 Unlicense Zlib")

// grants are texts that accompany a license and are none themselves.
var grants = strings.Fields("GooglePatentsFile GooglePatentClause")

// readByHand are licences of texts that name more, or less, than what is linked, by component and
// file.
var readByHand = map[string]string{
	// It lists the licences of what Arrow's C++ and other libraries contain. The Go packages are
	// Apache's own.
	"github.com/apache/arrow/go/arrow LICENSE.txt": "Apache-2.0",
}

// classify finds the licences of a component in its texts. A component without a licence, or with
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
			fault("%s is no licence that is known", t.name)
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
		fault("no file with a licence")
	}
	return errors.Join(faults...)
}

func isNotice(name string) bool {
	return strings.HasPrefix(strings.ToLower(path.Base(name)), "notice")
}

// scan returns the SPDX identifiers of the licences that a text holds in full.
func scan(content string) (ids []string) {
	for _, match := range licensecheck.Scan([]byte(content)).Match {
		if !match.IsURL && !slices.Contains(ids, match.ID) {
			ids = append(ids, match.ID)
		}
	}
	return ids
}
