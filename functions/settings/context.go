package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// contextKeys maps the names in contexts of the nats tool to keys. unheeded and refused have its
// other names.
var contextKeys = map[string]Key{
	"url": BusURL, "user": BusUser, "password": BusPass, "token": BusToken, "creds": BusCreds, "nkey": BusNKey,
	"cert": BusCert, "key": BusKey, "ca": BusCA, "inbox_prefix": BusInbox, "jetstream_domain": BusDomain, "tls_first": BusFirst,
}

var (
	unheeded = []string{"name", "description", "color_scheme", "jetstream_event_prefix"}
	// Would connect elsewhere.
	refused = []string{"nsc", "socks_proxy", "user_jwt", "user_seed", "jetstream_api_prefix", "windows_cert_store"}
)

// defaultURL is the server of a context that names none.
const defaultURL = "nats://127.0.0.1:4222"

// contextDir returns where the nats tool keeps its files; "" without a home.
func (s *Settings) contextDir() string {
	dir := configDir(s.sources.Environ, s.sources.Home)
	if dir == "" {
		return filepath.Join(string(filepath.Separator), "nonexistent")
	}
	return filepath.Join(dir, "nats")
}

// Contexts returns the names of the nats tool's contexts.
func (s *Settings) Contexts() []string {
	// Glob fails only for a malformed pattern.
	files, _ := filepath.Glob(filepath.Join(s.contextDir(), "context", "*.json"))
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names
}

// selected returns the context that `nats context select` chose; "" if there is none.
func (s *Settings) selected() string {
	text, err := os.ReadFile(filepath.Join(s.contextDir(), "context.txt"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// readContext reads a context of the nats tool.
func (s *Settings) readContext(name, namedBy string) (layer, error) {
	path := filepath.Join(s.contextDir(), "context", name+".json")
	if name != filepath.Base(name) || strings.Contains(name, "..") {
		return nil, fmt.Errorf("%s: context %q: expected a name", namedBy, name)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no context %q of the nats tool in %s: expected one of %s", namedBy, name, filepath.Dir(path), s.contextNames())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", namedBy, err)
	}
	return parseContext(name, path, text)
}

func (s *Settings) contextNames() string {
	if names := s.Contexts(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "the contexts created by `nats context add`"
}

// parseContext keeps values out of its errors, because there may be secrets among them. It ignores
// keys that other versions of the nats tool may have.
func parseContext(name, path string, text []byte) (layer, error) {
	var said map[string]any
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("%s: expected a context of the nats tool, got no JSON", path)
	}
	l := layer{}
	from := "context " + name
	for key, value := range said {
		if set := fmt.Sprint(value); value == nil || set == "" || set == "false" || slices.Contains(unheeded, key) {
			continue
		}
		if slices.Contains(refused, key) {
			return nil, fmt.Errorf("%s: %s is not supported: use creds, nkey, user or token, and url", path, key)
		}
		l.set(contextKeys[key], fmt.Sprint(value), from)
	}
	if _, ok := l[BusURL]; !ok {
		l.set(BusURL, defaultURL, from)
	}
	return l, nil
}
