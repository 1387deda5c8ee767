package lineage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Tree is the graph for people: what was asked for, and indented below each thing what it was made
// of. What made something is shown where it comes first. command returns the text of a stoker
// command that has these words, for the caller's installation.
func (g Graph) Tree(command func(words ...string) string) string {
	t := tree{graph: g, command: command, shown: map[string]bool{}}
	if target, ok := g.Node(g.Target); ok {
		t.node(target, "", "", string(target.Kind))
	}
	return t.text.String()
}

type tree struct {
	graph   Graph
	command func(words ...string) string
	shown   map[string]bool
	text    strings.Builder
}

func (t *tree) node(n Node, first, rest, role string) {
	fmt.Fprintf(&t.text, "%s%s\n", first, headline(n, role))
	edges := t.graph.Into(n.ID)
	if t.shown[n.ID] && len(edges) > 0 {
		fmt.Fprintf(&t.text, "%s└─ as above\n", rest)
		return
	}
	t.shown[n.ID] = true
	bar := "│  "
	if len(edges) == 0 {
		bar = "   "
	}
	for _, line := range t.details(n) {
		fmt.Fprintf(&t.text, "%s%s%s\n", rest, bar, line)
	}
	for i, e := range edges {
		from, ok := t.graph.Node(e.From)
		if !ok {
			continue
		}
		if i == len(edges)-1 {
			t.node(from, rest+"└─ ", rest+"   ", string(e.Role))
		} else {
			t.node(from, rest+"├─ ", rest+"│  ", string(e.Role))
		}
	}
}

// headline is the one line that says what a node is.
func headline(n Node, role string) string {
	parts := []string{strings.ReplaceAll(role, "_", " "), n.Name}
	if n.Kind != Trial {
		parts = append(parts, short(n.Digest))
	}
	switch n.State {
	case Same, "":
	default:
		parts = append(parts, strings.ToUpper(string(n.State)))
	}
	return strings.Join(parts, "  ")
}

// details are further lines on a node.
func (t *tree) details(n Node) (lines []string) {
	if n.URI != "" {
		lines = append(lines, n.URI)
	}
	if n.Pipeline != "" && n.Kind != Trial {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("pipeline %s%s, execution %s", n.Pipeline, revision(n), short(n.Execution))))
	}
	if len(n.Configuration) > 0 {
		lines = append(lines, "configuration: `"+t.command("pipelines", "show", n.Pipeline, "--revision", strconv.FormatUint(n.Revision, 10))+"`")
	}
	if len(n.Settings) > 0 && n.Run != "" {
		lines = append(lines, "trained with: `"+t.command("runs", "show", n.Run, "--pipeline", n.Pipeline)+"`")
	}
	if n.Trials > 0 {
		lines = append(lines, fmt.Sprintf("%d trials", n.Trials))
	}
	if len(n.Values) > 0 {
		lines = append(lines, compact(n.Values))
	}
	if len(n.Metrics) > 0 {
		lines = append(lines, compact(n.Metrics))
	}
	if n.Why != "" {
		lines = append(lines, n.Why)
	}
	return lines
}

func revision(n Node) string {
	if n.Revision == 0 {
		return ""
	}
	return fmt.Sprintf(" revision %d", n.Revision)
}

// compact is a map on one line, keys sorted.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// short is enough of a digest to find the thing again.
func short(digest string) string {
	if digits, ok := strings.CutPrefix(digest, "sha256:"); ok && len(digits) > 12 {
		return "sha256:" + digits[:12]
	}
	return digest
}

// Dot is the graph in the language of Graphviz.
func (g Graph) Dot() string {
	var text strings.Builder
	text.WriteString("digraph lineage {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		style := ""
		if n.State != Same && n.State != "" {
			style = ", color=red"
		}
		label := strings.Join([]string{strings.ReplaceAll(string(n.Kind), "_", " "), n.Name, short(n.Digest)}, "\n")
		fmt.Fprintf(&text, "  %s [label=%s, tooltip=%s%s];\n", quoted(n.ID), quoted(label), quoted(n.URI), style)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&text, "  %s -> %s [label=%s];\n", quoted(e.From), quoted(e.To), quoted(strings.ReplaceAll(string(e.Role), "_", " ")))
	}
	text.WriteString("}\n")
	return text.String()
}

// quoted is a string of Graphviz's: only quotes and backslashes need escapes, and \n is a new line.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
