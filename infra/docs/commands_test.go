package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// pages returns the paths of all pages for users, operators and contributors.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) < 15 {
		t.Fatal(found, err)
	}
	contributing, err := filepath.Glob("contributing/*.md")
	if err != nil || len(contributing) < 5 {
		t.Fatal(contributing, err)
	}
	found = append(found, contributing...)
	return append(found, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../threats.md", "../changelog/README.md")
}

var (
	fences   = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")
	inline   = regexp.MustCompile("`([^`\n]+)`")
	shell    = regexp.MustCompile(`^(?:\$ )?(?:\w+=\S+ )*(?:bin/)?stoker (.*)`)
	link     = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	target   = regexp.MustCompile(`\]\([^)]*\)`)
	inRepo   = regexp.MustCompile(`^(?:events|storage|compute|functions|local|infra)(?:/[\w.-]+)+$`)
	taskName = regexp.MustCompile(`^task ([a-z:-]+)`)
)

// code returns the code in a page: each line of its blocks, and the text between backticks. In a
// console block a line that begins with "$ " is a command, and the others are its output.
func code(text string) (all []string) {
	for _, block := range fences.FindAllStringSubmatch(text, -1) {
		for line := range strings.SplitSeq(block[2], "\n") {
			if block[1] == "" || block[1] == "console" && strings.HasPrefix(line, "$ ") {
				all = append(all, line)
			}
		}
	}
	for _, found := range inline.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		all = append(all, found[1])
	}
	return all
}

// Each `stoker ...` in a page is an existing command with existing flags.
func TestThePagesCommandsAreThere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the program is built")
	}
	stoker := builtStoker(t)
	checked := 0
	for _, page := range pages(t) {
		for _, line := range code(read(t, page)) {
			found := shell.FindStringSubmatch(strings.TrimSpace(line))
			if found == nil {
				continue
			}
			checked++
			if wrong := unknown(t, stoker, strings.Fields(found[1])); wrong != "" {
				t.Errorf("%s: %s: %s", page, line, wrong)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d commands were found", checked)
	}
}

var (
	word   = regexp.MustCompile(`^[a-z][a-z-]*$`)
	option = regexp.MustCompile(`^--[a-z0-9-]+`)
	usage  = regexp.MustCompile(`(?m)^  stoker ?(.*)$`)
)

// unknown returns the part of a command line that its help does not have; "" if there is none.
func unknown(t *testing.T, stoker string, line []string) string {
	t.Helper()
	if end := slices.IndexFunc(line, func(w string) bool { return strings.ContainsAny(w, "|>#;&…") }); end >= 0 {
		line = line[:end]
	}
	var path []string
	for _, w := range line {
		if !word.MatchString(w) {
			break
		}
		path = append(path, w)
	}
	if len(path) == 0 {
		return "no command"
	}
	said, err := exec.CommandContext(t.Context(), stoker, append(slices.Clone(path), "--help")...).CombinedOutput()
	help := string(said) + helpOf(t, stoker, []string{"connection"})
	found := usage.FindStringSubmatch(help[max(0, strings.Index(help, "Usage:")):])
	if err != nil || found == nil || !strings.HasPrefix(found[1], path[0]) {
		return "there is no such command"
	}
	for _, w := range line {
		if name := option.FindString(w); name != "" && name != "--help" && !regexp.MustCompile(regexp.QuoteMeta(name)+`\b`).MatchString(help) {
			return "it has no " + name
		}
	}
	return ""
}

// Each page is in the navigation of the web site.
func TestEveryPageIsOnTheSite(t *testing.T) {
	t.Parallel()
	settings := read(t, "../site/zensical.toml")
	for _, page := range pages(t) {
		if name := filepath.Join("infra/docs", page); !strings.Contains(settings, `"`+name+`"`) {
			t.Errorf("%s: not in nav of infra/site/zensical.toml", name)
		}
	}
}

// The prose of a page is at most 100 columns wide. Tables, code and the targets of links may be
// wider.
func TestTheProseOfPagesIsAtMost100ColumnsWide(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		fenced := false
		for i, line := range strings.Split(read(t, page), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "<!--") {
				continue
			}
			if width := utf8.RuneCountInString(target.ReplaceAllString(line, "]")); width > 100 {
				t.Errorf("%s:%d: %d columns: wrap the line at 100", page, i+1, width)
			}
		}
	}
}

// Files, directories, tasks, links and headings that a page names exist.
func TestWhatThePagesNameIsThere(t *testing.T) {
	t.Parallel()
	tasks := read(t, "../../Taskfile.yml")
	for _, page := range pages(t) {
		text := read(t, page)
		var files []string
		for _, said := range code(text) {
			if inRepo.MatchString(said) {
				files = append(files, filepath.Join("../..", said))
			}
			if found := taskName.FindStringSubmatch(said); found != nil && !isTask(tasks, found[1]) {
				t.Errorf("%s: no task %s", page, found[1])
			}
		}
		for _, found := range link.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			to := page
			if found[1] != "" {
				to = filepath.Join(filepath.Dir(page), found[1])
			}
			files = append(files, to)
			if found[2] != "" && !hasHeading(read(t, to), found[2]) {
				t.Errorf("%s: no heading #%s in %s", page, found[2], to)
			}
		}
		for _, file := range files {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// isTask reports whether the Taskfile has a task, or, for "bench:size", whether the description of
// "bench:*" names that part.
func isTask(tasks, name string) bool {
	if strings.Contains(tasks, "\n  "+name+":\n") {
		return true
	}
	part, isPart := strings.CutPrefix(name, "bench:")
	_, parts, _ := strings.Cut(tasks, "\n  bench:*:\n    desc: Measure one part (")
	parts, _, _ = strings.Cut(parts, ")")
	return isPart && slices.Contains(strings.Split(strings.ReplaceAll(parts, " or ", ", "), ", "), part)
}

var notInAnchor = regexp.MustCompile(`[^\w -]`)

// hasHeading reports whether a page has the heading to which GitHub gives that anchor.
func hasHeading(text, anchor string) bool {
	for _, found := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		if strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
