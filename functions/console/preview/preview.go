// Package preview shows the beginning of a file of the store on a page: a small text without its
// secrets, or the names of the features in the first records of a TFRecord file. What it reads is
// foreign, and so it bounds the bytes, the work and the result. It reads no store. Read Of first.
package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// Preview is what a page shows of a file. All of it is plain text, for a page to escape.
type Preview struct {
	Format   string    // JSON, text, or records; "" if nothing is shown
	Text     string    // with secrets hidden
	Records  int       // number of records that were read
	Features []Feature // of these
	More     int       // number of further features
	Note     string    // why nothing is shown, or a part
}

// Feature is a feature of records.
type Feature struct {
	Name, Type string
	Values     string // the number of values in a record
	Present    int    // number of records that have it
}

// Limits.
const (
	MaxText    = 64 << 10  // bytes of a text that is shown
	maxRecords = 1 << 20   // bytes of a file of records that are read
	maxFormat  = 256 << 10 // bytes of JSON with line breaks
	maxDepth   = 40        // of JSON with line breaks
	maxNames   = 100       // features
	maxName    = 120       // letters of a name
)

// Of returns the preview of a file of a size, of which it reads the beginning.
func Of(name string, size int64, in io.Reader) (Preview, error) {
	switch {
	case size == 0:
		return Preview{Note: "The file is empty."}, nil
	case tfevents.IsEventFile(path.Base(name)):
		return Preview{Note: "An event file of TensorBoard: the page of its run shows the curves."}, nil
	}
	head := make([]byte, min(size, MaxText))
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return Preview{}, err
	}
	head = head[:n]
	whole := int64(n) == size
	if isText(head, whole) {
		if !whole {
			return Preview{Note: fmt.Sprintf("The text has more than %d KiB, which are too many for this page.", MaxText>>10)}, nil
		}
		return ofText(head), nil
	}
	return ofRecords(name, io.MultiReader(bytes.NewReader(head), in)), nil
}

// isText reports whether bytes are UTF-8 without control characters. A text that is cut may end
// within a character.
func isText(head []byte, whole bool) bool {
	for i := 0; i < len(head); {
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size <= 1 {
			return !whole && len(head)-i < utf8.UTFMax && !utf8.FullRune(head[i:])
		}
		if unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) {
			return false
		}
		i += size
	}
	return true
}

func ofText(text []byte) Preview {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return Preview{Format: "JSON", Text: Visible(Indented(mask.JSON(trimmed)))}
	}
	return Preview{Format: "text", Text: Visible(mask.YAML(string(text)))}
}

// Indented returns JSON with line breaks. Their indentation may be many times as long as the text,
// which then stays as it is.
func Indented(text []byte) string {
	if depth(text) > maxDepth {
		return string(text)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil || out.Len() > maxFormat {
		return string(text)
	}
	return out.String()
}

func depth(text []byte) (most int) {
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

// Visible returns a text with a mark for each character that a reader would not see, or that
// changes the order in which others are shown.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func ofRecords(name string, in io.Reader) Preview {
	features, records, err := inspect.FirstFeatures(name, in, maxRecords)
	if err != nil || records == 0 {
		return Preview{Note: "A binary file: download it to read it."}
	}
	p := Preview{Format: "records", Records: records, More: max(0, len(features)-maxNames)}
	for _, f := range features[:len(features)-p.More] {
		values := fmt.Sprint(f.Min)
		if f.Max != f.Min {
			values = fmt.Sprintf("%d to %d", f.Min, f.Max)
		}
		letters := []rune(Visible(strings.ToValidUTF8(f.Name, "\uFFFD")))
		p.Features = append(p.Features, Feature{string(letters[:min(len(letters), maxName)]), f.Type, values, f.Present})
	}
	return p
}
