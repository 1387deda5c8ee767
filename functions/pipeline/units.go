package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written with its unit: 8GiB, 512MiB, 1.5GB.
type Size int64

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)$`)

// sizeUnits are the units of IEC 80000-13 and of the SI, largest first within each.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// UnmarshalText reads a size with its unit.
func (s *Size) UnmarshalText(text []byte) error {
	m := sizePattern.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("expected a size with its unit, like 8GiB, got %q", text)
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return fmt.Errorf("expected a size with its unit, like 8GiB, got %q", text)
	}
	for _, unit := range sizeUnits {
		if unit.name != m[2] {
			continue
		}
		bytes := math.Round(number * float64(unit.bytes))
		if bytes >= math.MaxInt64 {
			return fmt.Errorf("size %q is too large", text)
		}
		*s = Size(bytes)
		return nil
	}
	return fmt.Errorf("unknown unit %q in size %q, expected one of TiB, GiB, MiB, KiB, TB, GB, MB, kB, B", m[2], text)
}

// Bytes returns the number of bytes.
func (s Size) Bytes() int64 { return int64(s) }

// MarshalText writes the size with the largest binary unit that divides it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	for _, unit := range sizeUnits[:4] {
		if s != 0 && int64(s)%unit.bytes == 0 {
			return strconv.FormatInt(int64(s)/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// Duration is a time.Duration written with its unit: 6h, 1h30m, 7d. A day has 24 hours.
type Duration time.Duration

var dayPattern = regexp.MustCompile(`^([0-9]{1,5})d(.*)$`)

// UnmarshalText reads a duration with its unit.
func (d *Duration) UnmarshalText(text []byte) error {
	var days time.Duration
	rest := string(text)
	if m := dayPattern.FindStringSubmatch(rest); m != nil {
		n, _ := strconv.Atoi(m[1]) // up to five digits: always a number
		days, rest = time.Duration(n)*24*time.Hour, cmp.Or(m[2], "0s")
	}
	clock, err := time.ParseDuration(rest)
	if err != nil {
		return fmt.Errorf("expected a duration with its unit, like 6h or 90m, got %q", text)
	}
	if clock < 0 {
		return fmt.Errorf("duration %q is negative", text)
	}
	if days+clock < days {
		return fmt.Errorf("duration %q is too long", text)
	}
	*d = Duration(days + clock)
	return nil
}

// Duration returns the value in the standard library's type.
func (d Duration) Duration() time.Duration { return time.Duration(d) }

// MarshalText writes the duration like time.Duration, without trailing zero units.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Switch is on or off. YAML 1.2, unlike 1.1, reads those words as text; a tool that still writes
// 1.1 turns them into true and false, so these are accepted too.
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

// Expiry is how long a run waits for its events: a Duration above zero, or the word never, which is
// the zero value. A duration of 0 is an error, because it is ambiguous.
type Expiry Duration

const never = "never"

// UnmarshalText reads never, or a duration with its unit.
func (e *Expiry) UnmarshalText(text []byte) error {
	if string(text) == never {
		*e = 0
		return nil
	}
	var d Duration
	if err := d.UnmarshalText(text); err != nil {
		return err
	}
	if d == 0 {
		return errors.New("expected a duration above 0, or never")
	}
	*e = Expiry(d)
	return nil
}

// After returns that duration; false if it is forever.
func (e Expiry) After() (time.Duration, bool) { return time.Duration(e), e != 0 }

// MarshalText writes never, or the duration.
func (e Expiry) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e Expiry) String() string {
	if e == 0 {
		return never
	}
	return Duration(e).String()
}
