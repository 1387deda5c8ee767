package readmetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Block is one fenced block of commands.
type Block struct {
	Page       string // the name given to Parse
	Line       int    // of the fence, from 1
	Background bool   // its one step keeps running during the blocks after it
	Skip       string // why it is not run; "" when it is
	Steps      []Step
}

// Step is one command.
type Step struct {
	Line    int // from 1
	Command string
	Want    string // expected output, with "..." for text that differs; "" for any output
}

var (
	fence = regexp.MustCompile("^( *)```+ *([[:alnum:]]*)[^`]*$")
	mark  = regexp.MustCompile(`^<!-- *ci: *(.*?) *-->$`)
	skip  = regexp.MustCompile(`^skip because (.+)$`)
)

// shells are the languages of fences in which commands would never be run.
var shells = []string{"sh", "bash", "shell", "zsh"}

// Parse returns the blocks of commands in a Markdown text. Errors contain the name and the line.
func Parse(name, text string) ([]Block, error) {
	p := parser{page: name}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		if err := p.take(strings.TrimSuffix(line, "\r")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, p.line, err)
		}
	}
	if p.fenced || p.marked != "" {
		return nil, fmt.Errorf("%s: ends within a block, or with a mark that has no block after it", name)
	}
	return p.blocks, nil
}

// parser reads a page line by line. Each fence of the language console becomes a block.
type parser struct {
	page    string
	line    int
	marked  string // a mark whose block has not begun yet
	fenced  bool
	console bool
	indent  string // of the fence, taken off the lines within
	blocks  []Block
}

func (p *parser) take(line string) error {
	opens := fence.FindStringSubmatch(line)
	switch {
	case p.fenced && opens != nil && opens[2] == "":
		return p.close()
	case p.fenced && p.console:
		return p.within(strings.TrimPrefix(line, p.indent))
	case p.fenced:
		return nil
	case opens != nil:
		return p.open(opens[1], opens[2])
	}
	return p.text(strings.TrimSpace(line))
}

func (p *parser) text(line string) error {
	switch found := mark.FindStringSubmatch(line); {
	case p.marked != "" && line != "":
		return fmt.Errorf("a block of console has to follow the mark %q", p.marked)
	case found != nil && found[1] != "background" && !skip.MatchString(found[1]):
		return fmt.Errorf(`unknown mark %q: want "background" or "skip because" with a reason`, found[1])
	case found != nil:
		p.marked = found[1]
	}
	return nil
}

func (p *parser) open(indent, language string) error {
	p.fenced, p.console, p.indent = true, language == "console", indent
	switch {
	case slices.Contains(shells, language):
		return fmt.Errorf("a block of %s is never run: write it as console, with a \"$ \" before each command", language)
	case !p.console && p.marked != "":
		return fmt.Errorf("the mark %q stands before a block that is not run anyway", p.marked)
	case !p.console:
		return nil
	}
	block := Block{Page: p.page, Line: p.line, Background: p.marked == "background"}
	if reason := skip.FindStringSubmatch(p.marked); reason != nil {
		block.Skip = reason[1]
	}
	p.blocks, p.marked = append(p.blocks, block), ""
	return nil
}

func (p *parser) within(line string) error {
	block := &p.blocks[len(p.blocks)-1]
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		block.Steps = append(block.Steps, Step{Line: p.line, Command: command})
		return nil
	}
	if len(block.Steps) == 0 {
		return fmt.Errorf(`a block of console begins with a command, "$ ...", not with %q`, line)
	}
	step := &block.Steps[len(block.Steps)-1]
	if more, ok := strings.CutPrefix(line, "> "); ok && step.Want == "" {
		step.Command += "\n" + more
		return nil
	}
	step.Want += line + "\n"
	return nil
}

func (p *parser) close() error {
	p.fenced = false
	if !p.console {
		return nil
	}
	block := p.blocks[len(p.blocks)-1]
	switch {
	case len(block.Steps) == 0:
		return fmt.Errorf("a block of console without a command")
	case block.Background && len(block.Steps) > 1:
		return fmt.Errorf("a block in the background has one command, not %d", len(block.Steps))
	case block.Background && strings.TrimSpace(block.Steps[0].Want) == "":
		return fmt.Errorf("a command in the background needs below it what it prints when it is ready")
	}
	return nil
}
