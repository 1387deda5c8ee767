package pipeline

import (
	"errors"
	"time"
)

// Expiry is for how long a run waits for its events: a Duration above zero, or the word never, which is the zero value. A
// duration of 0 is refused: it might be meant either way.
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

// After is how long that is; false if it is forever.
func (e Expiry) After() (time.Duration, bool) { return time.Duration(e), e != 0 }

// MarshalText writes never, or the duration.
func (e Expiry) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e Expiry) String() string {
	if e == 0 {
		return never
	}
	return Duration(e).String()
}
