package pipeline

import "fmt"

// Switch is on or off. YAML 1.2, unlike 1.1, reads those words as text; a tool that still writes 1.1 makes true and false
// of them, so these are read too.
type Switch bool

// UnmarshalText reads on, off, true or false.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on", "true":
		*s = true
	case "off", "false":
		*s = false
	default:
		return fmt.Errorf("expected on or off, got %q", shorten(string(text)))
	}
	return nil
}

// MarshalText writes on or off.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Switch) String() string {
	if s {
		return "on"
	}
	return "off"
}
