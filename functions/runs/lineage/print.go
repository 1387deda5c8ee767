package lineage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Tree prints the graph for users: the requested node, and indented below each node what it was
// made from. Inputs of a node are printed only at its first occurrence. command returns the text of
// a stoker command with these words, for the caller's installation.
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

// headline returns the one line that describes a node.
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

// details returns further lines on a node.
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

// compact returns a map on one line, keys sorted.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// short returns enough of a digest to search for it.
func short(digest string) string {
	if digits, ok := strings.CutPrefix(digest, "sha256:"); ok && len(digits) > 12 {
		return "sha256:" + digits[:12]
	}
	return digest
}

// Dot returns the graph in the language of Graphviz.
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

// quoted returns a string literal of Graphviz: only quotes and backslashes need escapes, and \n is
// a new line.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
