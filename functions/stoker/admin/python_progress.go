package admin

import (
	"bytes"
	"io"
	"regexp"

	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// installing shows the progress of an installer by its output. Write is called by one goroutine.
type installing struct {
	*terminal.Work
	log  io.Writer // gets the output itself with -v
	line []byte    // incomplete
	seen map[string]bool
}

// begin shows the beginning of an installation.
func (i *installing) begin(a *app.App, packages int) io.Writer {
	i.Work, i.log, i.seen = a.Begin("install", "packages"), io.Discard, map[string]bool{}
	i.Expect(int64(packages))
	if a.Verbose() {
		i.log = a.Notes()
	}
	return i
}

// installedLine matches the lines of pip and uv about a package that is downloaded or installed.
var installedLine = regexp.MustCompile(`^\s*(?:Collecting|Downloaded|\+) ([A-Za-z0-9_.-]+?)(?:==.*)?$`)

// Write counts the packages in the output of an installer.
func (i *installing) Write(text []byte) (int, error) {
	i.line = append(i.line, text...)
	for {
		line, rest, whole := bytes.Cut(i.line, []byte("\n"))
		if !whole {
			break
		}
		i.line = rest
		if found := installedLine.FindSubmatch(bytes.TrimRight(line, "\r ")); found != nil && !i.seen[string(found[1])] {
			i.seen[string(found[1])] = true
			i.Add(1)
		}
		i.Note(string(line))
	}
	_, err := i.log.Write(text)
	return len(text), err
}
