package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Vocabulary are words that the project once used in a meaning of its own. The field has other
// words for the same things (a bus, a job, a dead letter), so they have no use in code, comments or
// messages. A file holds it, in lines of three kinds:
//
//	# a comment
//	12 old word                a word or phrase in lower case, and how often it may be found
//	dir/file.go: text          text in which a word is right: a quotation, or its common meaning
type Vocabulary struct {
	Limits map[string]int // by term; a limit may only fall
	Quotes []QuotedText
}

// QuotedText is text within one line of a file.
type QuotedText struct{ File, Text string }

// ParseVocabulary reads the file of a vocabulary.
func ParseVocabulary(text string) (Vocabulary, error) {
	v := Vocabulary{Limits: map[string]int{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if file, quote, ok := strings.Cut(line, ": "); ok {
			v.Quotes = append(v.Quotes, QuotedText{file, quote})
			continue
		}
		count, term, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || term == "" {
			return v, fmt.Errorf("%q: want a count and a term, or a file, a colon and quoted text", line)
		}
		v.Limits[term] = n
	}
	return v, nil
}

// Place is the position of a term.
type Place struct {
	File string
	Line int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// prose are the kinds of files with text of ours.
var prose = []string{".go", ".py", ".md", ".html", ".js", ".yml", ".yaml", ".txtar", ".sh", ".tpl"}

// Find lists the places of each term in the files under root, names of files included. Identifiers
// are split where their case changes and at underscores. Files in testdata count only if they are
// scripts of our tests (.txtar). A quoted text that is no longer in its file is an error.
func (v Vocabulary) Find(root fs.FS) (map[string][]Place, error) {
	skip := ignored(root)
	terms := termPattern(slices.Sorted(maps.Keys(v.Limits)))
	found, quoted := map[string][]Place{}, map[QuotedText]bool{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") && name != ".ci" && name != ".github" || skip(name)):
			return fs.SkipDir
		case entry.IsDir() || !hasProse(name):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(name+"\n"+string(text), "\n") {
			line = v.withoutQuotes(name, line, quoted)
			for _, term := range terms.FindAllString(plain(line), -1) {
				found[term] = append(found[term], Place{name, i})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	for _, quote := range v.Quotes {
		if !quoted[quote] {
			return nil, fmt.Errorf("quoted text %q is not in %s: remove it from the list", quote.Text, quote.File)
		}
	}
	return found, nil
}

// withoutQuotes removes the quoted texts of a file from one of its lines.
func (v Vocabulary) withoutQuotes(file, line string, seen map[QuotedText]bool) string {
	for _, quote := range v.Quotes {
		if quote.File == file && strings.Contains(line, quote.Text) {
			seen[quote] = true
			line = strings.ReplaceAll(line, quote.Text, "")
		}
	}
	return line
}

func hasProse(name string) bool {
	extension := path.Ext(name)
	if strings.Contains("/"+name, "/testdata/") {
		return extension == ".txtar"
	}
	return slices.Contains(prose, extension)
}

var caseChange = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// plain splits identifiers into words, in lower case.
func plain(line string) string {
	return strings.ToLower(strings.ReplaceAll(caseChange.ReplaceAllString(line, "$1 $2"), "_", " "))
}

func termPattern(terms []string) *regexp.Regexp {
	quoted := make([]string, len(terms))
	for i, term := range terms {
		quoted[i] = regexp.QuoteMeta(term)
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(quoted, "|") + `)\b`)
}

// Violations reports the terms that are found more often than allowed, with their places, and the
// limits that are too high.
func (v Vocabulary) Violations(found map[string][]Place) (violations []string) {
	for _, term := range slices.Sorted(maps.Keys(v.Limits)) {
		places, limit := found[term], v.Limits[term]
		switch {
		case len(places) > limit:
			violations = append(violations, fmt.Sprintf("%q: found %d times, allowed %d: %v", term, len(places), limit, places))
		case len(places) < limit:
			violations = append(violations, fmt.Sprintf("%q: found %d times, allowed %d: lower the limit with task words -- -update", term, len(places), limit))
		}
	}
	return violations
}

// Lowered returns the text of a vocabulary's file with limits that are no higher than what was
// found.
func Lowered(text string, found map[string][]Place) string {
	var lowered strings.Builder
	for line := range strings.Lines(text) {
		count, term, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if limit, err := strconv.Atoi(count); err == nil && len(found[term]) < limit {
			line = fmt.Sprintf("%d %s\n", len(found[term]), term)
		}
		lowered.WriteString(line)
	}
	return lowered.String()
}
