package settings

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// place sets a setting in one of its places, and is what Value.From calls that.
type place struct {
	from string
	say  func(*Sources)
}

// placesOf returns the places of a setting, the strongest first: its flag, its variables in their
// order, the file.
func placesOf(s Setting, file string) (all []place) {
	if s.Flag != "" {
		all = append(all, place{"--" + s.Flag, func(to *Sources) { to.Flags = map[Key]string{s.Key: "/by-flag"} }})
	}
	for i, name := range s.Env {
		all = append(all, place{name, func(to *Sources) { to.Environ = append(to.Environ, append(otherKeys(s.Key, i), name+"=/by-"+name)...) }})
	}
	return append(all, place{file, func(to *Sources) { to.File = file }})
}

// otherKeys returns the variables that complete a store's key in the variable of that number.
func otherKeys(key Key, number int) (all []string) {
	if key != StoreAccess && key != StoreSecret && key != StoreSession {
		return nil
	}
	for _, half := range []Key{StoreAccess, StoreSecret} {
		if other, _ := setting(half); half != key {
			all = append(all, other.Env[number]+"=half")
		}
	}
	return all
}

// inFile returns a configuration file with one setting.
func inFile(key Key) string {
	text := ""
	parts := strings.Split(string(key), ".")
	for depth, part := range parts {
		text += strings.Repeat("  ", depth) + part + ":"
		if depth == len(parts)-1 {
			return text + " /by-file\n"
		}
		text += "\n"
	}
	return text
}

// For each setting, a stronger place overrides weaker ones whatever these contain, and without any
// the default counts.
func TestOfEverySettingTheStrongestPlaceCounts(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		t.Run(string(s.Key), func(t *testing.T) {
			t.Parallel()
			dir := home(t, map[string]string{"mine.yaml": inFile(s.Key)})
			places := placesOf(s, filepath.Join(dir, "mine.yaml"))
			for strongest, want := range places {
				sources := Sources{Home: dir}
				for _, weaker := range places[strongest:] {
					weaker.say(&sources)
				}
				found, err := Find(sources)
				if err != nil {
					t.Fatal(err)
				}
				if got := found.Value(s.Key); !strings.HasPrefix(got.From, want.from) || !strings.Contains(got.Text, "/by-") {
					t.Errorf("it is %q from %s; want it from %s", got.Text, got.From, want.from)
				}
			}
			found, err := Find(Sources{Home: dir})
			if err != nil {
				t.Fatal(err)
			}
			if got := found.Value(s.Key); got.From != "default" && got.Text != "" || s.Default != "" && got.Text != s.Default {
				t.Errorf("nobody said it, and it is %q from %q", got.Text, got.From)
			}
		})
	}
}

// A secret is hidden wherever it was set, and other settings are shown.
func TestOfEverySettingOnlySecretsAreHidden(t *testing.T) {
	t.Parallel()
	secrets := map[Key]bool{}
	for _, s := range All() {
		shown := fmt.Sprint(Value{Setting: s, Text: "canary"}.Shown())
		if hidden := !strings.Contains(shown, "canary"); hidden != s.Secret {
			t.Errorf("%s is shown as %q", s.Key, shown)
		}
		secrets[s.Key] = s.Secret
	}
	for _, key := range []Key{BusPass, BusToken, StoreSecret, StoreSession} {
		if !secrets[key] {
			t.Errorf("%s is no secret", key)
		}
	}
}
