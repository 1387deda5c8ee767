package doctor

import (
	"context"
	"fmt"
	"time"
)

// Level says how bad a finding is.
type Level string

// The levels. A Fault stops Stoker from working; a Warning may, or stops a part of it that not everybody needs.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Fault   Level = "fault"
)

// Finding is a line of the report.
type Finding struct {
	Check string `json:"check"` // what was looked at
	Level Level  `json:"level"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what helps
}

// Check looks at one thing, and says what it found: a line or more. It ends when ctx does.
type Check interface {
	Name() string
	Look(ctx context.Context) []Finding
}

// Func makes a check of a function. The findings need not name it.
func Func(name string, look func(context.Context) []Finding) Check { return check{name, look} }

type check struct {
	name string
	look func(context.Context) []Finding
}

func (c check) Name() string                       { return c.name }
func (c check) Look(ctx context.Context) []Finding { return c.look(ctx) }

// Fine is a finding that is OK; what is found is formatted as Sprintf does, here and below.
func Fine(format string, args ...any) Finding {
	return Finding{Level: OK, Found: fmt.Sprintf(format, args...)}
}

// Warn is a Warning, and do what helps.
func Warn(do, format string, args ...any) Finding {
	return Finding{Level: Warning, Found: fmt.Sprintf(format, args...), Do: do}
}

// Wrong is a Fault, and do what helps.
func Wrong(do, format string, args ...any) Finding {
	return Finding{Level: Fault, Found: fmt.Sprintf(format, args...), Do: do}
}

// Examine runs checks at once, each for no longer than limit, and reports each finding in the order of the checks, as soon as it is
// known. It returns how many faults there are. A check that ends by ctx alone is a fault of its own.
func Examine(ctx context.Context, limit time.Duration, checks []Check, report func(Finding)) (faults int) {
	looked := make([]chan []Finding, len(checks))
	for i, check := range checks {
		looked[i] = make(chan []Finding, 1)
		go func() { looked[i] <- look(ctx, limit, check) }() // each is waited for below
	}
	for i, check := range checks {
		for _, finding := range <-looked[i] {
			if finding.Check == "" {
				finding.Check = check.Name()
			}
			if finding.Level == Fault {
				faults++
			}
			report(finding)
		}
	}
	return faults
}

func look(ctx context.Context, limit time.Duration, check Check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := check.Look(ctx)
	if ctx.Err() != nil && len(found) == 0 {
		return []Finding{Wrong("try again; if it stays so, look at what it asks", "no answer within %s", limit)}
	}
	return found
}
