package settings

import (
	"path/filepath"
	"strings"
)

// Sources are the places where settings are looked up.
type Sources struct {
	Flags   map[Key]string // the flags that were given
	Environ []string       // as os.Environ has it
	Home    string         // the user's home directory; "" if there is none
	// The configuration file that a flag names; "": STOKER_CONFIG, else config.yaml in
	// Dir("XDG_CONFIG_HOME").
	File string
}

// Settings are the settings that were found. Contexts and profiles are read when Bus, Store or
// Values needs them, so that a broken one does not affect callers that do not use it.
type Settings struct {
	File string // the configuration file; "" if there is none

	sources Sources
	env     environment
	places  layers // flags, environment, file
}

// Find reads flags, environment and file.
func Find(sources Sources) (*Settings, error) {
	s := &Settings{sources: sources, env: environment(sources.Environ)}
	fromEnv, err := s.env.layer()
	if err != nil {
		return nil, err
	}
	fromFile, err := s.file()
	if err != nil {
		return nil, err
	}
	s.places = layers{s.flags(), fromEnv, fromFile}
	return s, nil
}

func (s *Settings) flags() layer {
	given := layer{}
	for key, text := range s.sources.Flags {
		if setting, ok := setting(key); ok {
			given.set(key, text, "--"+setting.Flag)
		}
	}
	return given
}

// Value returns a setting that is in no context and no profile.
func (s *Settings) Value(key Key) Value { return s.value(s.places, key) }

// value returns a setting in places, or else its default.
func (s *Settings) value(places layers, key Key) Value {
	v := places.find(key)
	if v.From == "" {
		v.Text, v.From = s.standard(key), "default"
		if v.Text == "" {
			v.From = ""
		}
	}
	if v.isPath {
		v.Text = s.expand(v.Text)
	}
	return v
}

// standard returns a setting's default.
func (s *Settings) standard(key Key) string {
	if key == Data {
		return DataDir(s.sources.Environ, s.sources.Home)
	}
	setting, _ := setting(key)
	return setting.Default
}

// Values returns all settings. If there is an error, those that it concerns are missing.
func (s *Settings) Values() ([]Value, error) {
	bus, err := s.busPlaces()
	if err != nil {
		return nil, err
	}
	store, err := s.storePlaces()
	if err != nil {
		return nil, err
	}
	var all []Value
	for _, setting := range All() {
		places := s.places
		switch group, _, _ := strings.Cut(string(setting.Key), "."); group {
		case "nats":
			places = bus
		case "store":
			places = store
		}
		all = append(all, s.value(places, setting.Key))
	}
	return all, nil
}

// expand replaces ~ at the beginning of a path.
func (s *Settings) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && s.sources.Home != "" {
		return filepath.Join(s.sources.Home, rest)
	}
	return path
}

// DataDir returns where the local stack keeps its data, by the XDG base directory specification.
func DataDir(environ []string, home string) string {
	if dir := base(environ, home, "XDG_DATA_HOME", ".local", "share"); dir != "" {
		return filepath.Join(dir, "stoker")
	}
	return "stoker-data"
}

// configDir returns the directory of the configurations of all programs; "" if there is none.
func configDir(environ []string, home string) string {
	return base(environ, home, "XDG_CONFIG_HOME", ".config")
}

// base returns a base directory: the variable's value if that is absolute, else a directory below
// home.
func base(environ []string, home, variable string, below ...string) string {
	if dir := environment(environ).first(variable); filepath.IsAbs(dir) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, below...)...)
}
