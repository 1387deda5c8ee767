package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// Origin is what a client reported when it applied a pipeline. It is information only, and nobody
// has checked it: the pipeline decides what runs.
type Origin struct {
	Source string `json:"source,omitempty"` // text of the pipeline file, at most MaxSource bytes
	File   string `json:"file,omitempty"`   // its name, without directories
	User   string `json:"user,omitempty"`   // of the operating system
	Host   string `json:"host,omitempty"`
	Client string `json:"client,omitempty"` // stoker apply, console, ...
	// The earlier revision that was applied again; 0: none.
	Of uint64 `json:"revision,omitempty"`
}

// OriginBy returns the origin of what this process applies for its user.
func OriginBy(client string) Origin {
	o := Origin{Client: client}
	if known, err := user.Current(); err == nil {
		o.User = known.Username
	}
	if host, err := os.Hostname(); err == nil {
		o.Host = host
	}
	return o
}

// By returns the user and the machine that the client reported; "" if it reported neither.
func (o Origin) By() string {
	switch {
	case o.Host == "":
		return o.User
	case o.User == "":
		return o.Host
	}
	return o.User + "@" + o.Host
}

// Bounds of an Origin, in bytes.
const (
	MaxSource = 64 << 10
	maxOrigin = 256 // of each other text
)

// SourceOf returns the text of a pipeline file as an Origin keeps it: "" if it is too large, or is
// not UTF-8.
func SourceOf(text []byte) string {
	if len(text) > MaxSource || !utf8.Valid(text) {
		return ""
	}
	return string(text)
}

// bounded returns o within its bounds, whatever client wrote it.
func (o Origin) bounded() Origin {
	o.Source = SourceOf([]byte(o.Source))
	for _, text := range []*string{&o.File, &o.User, &o.Host, &o.Client} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), maxOrigin)], "")
	}
	return o
}

// originKey is the member of an entry that holds its Origin.
const originKey = "applied"

// Entry returns the value of the KV bucket PIPELINES: the pipeline as JSON returns it, with its
// origin as a further member.
func (p Pipeline) Entry(o Origin) ([]byte, error) {
	text, err := p.JSON()
	if err != nil || o == (Origin{}) {
		return text, err
	}
	var origin bytes.Buffer
	encoder := json.NewEncoder(&origin)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(o.bounded()); err != nil {
		return nil, fmt.Errorf("origin of pipeline %s as JSON: %w", p.Name, err)
	}
	return slices.Concat(text[:len(text)-1], []byte(`,"`+originKey+`":`), bytes.TrimSpace(origin.Bytes()), []byte("}")), nil
}

// FromEntry reads the value of the KV bucket PIPELINES. It is as strict as FromJSON about the
// pipeline; an origin that can't be read is the zero Origin.
func FromEntry(value []byte) (Pipeline, Origin, error) {
	const name = "pipeline"
	root, err := readJSON(value)
	if err != nil {
		return Pipeline{}, Origin{}, unreadable(name, err)
	}
	var o Origin
	if fields, isMapping := root.value.([]field); isMapping {
		root.value = slices.DeleteFunc(fields, func(f field) bool { return f.key == originKey })
		var entry struct {
			Applied Origin `json:"applied"`
		}
		if json.Unmarshal(value, &entry) == nil {
			o = entry.Applied.bounded()
		}
	}
	p, _, err := build(name, root)
	return p, o, err
}

// CheckSource returns an error if the text of a pipeline file does not give this pipeline, as when
// a client reported another text than the one that it applied. The module's path may differ,
// because a client resolves it, or uploads the module: module is the one that the text names.
func (p Pipeline) CheckSource(text string) (module string, err error) {
	parsed, err := Parse("the file", []byte(text))
	if err != nil {
		return "", err
	}
	module, parsed.Module.Path = parsed.Module.Path, p.Module.Path
	want, err := p.Effective()
	if err != nil {
		return module, err
	}
	got, err := parsed.Effective()
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("the file gives another configuration of pipeline %s", p.Name)
	}
	return module, err
}

// MaskedSource returns the text of a pipeline file without its secrets: the values of keys with the
// name of a secret, wherever they stand, and what package mask hides in texts. A secret in a
// comment that nothing identifies as one is not hidden.
func (p Pipeline) MaskedSource(text string) string {
	text = mask.YAML(text)
	value, err := p.JSON()
	if err != nil {
		return mask.Hidden
	}
	var plain any
	if err := json.Unmarshal(value, &plain); err != nil {
		return mask.Hidden
	}
	for _, secret := range secretsIn(plain, false) {
		text = strings.ReplaceAll(text, secret, mask.Hidden)
	}
	return text
}

// minSecret is how long a line of a secret must be to be searched for elsewhere in a text.
const minSecret = 4

// secretsIn returns the lines of the texts below keys with the name of a secret, the longest first.
func secretsIn(value any, secret bool) (found []string) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			found = append(found, secretsIn(inner, secret || mask.Name(key))...)
		}
	case []any:
		for _, inner := range v {
			found = append(found, secretsIn(inner, secret)...)
		}
	case string:
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); secret && len(line) >= minSecret {
				found = append(found, line)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(found)
}
