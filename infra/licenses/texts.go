package main

import (
	"fmt"
	"strings"
)

// expression is an SPDX expression: all of the licences hold, each for files of its own.
func (c component) expression() string { return strings.Join(c.licenses, " AND ") }

const head = `Third-party software in Stoker

Stoker's programs are made of the components below, under the licences named. The texts of these licences and the notices of the
components follow. Stoker itself is licensed under the Apache License, Version 2.0: see LICENSE and NOTICE.
`

const rule = "================================================================================"

// texts are all components with the addresses of their source code, then each text once, under the
// names of those that have it.
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
