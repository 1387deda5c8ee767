package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// Level is the severity of a finding.
type Level string

// The levels. A Fault stops Stoker from working; a Warning may, or stops a part of it that not
// everyone needs.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Fault   Level = "fault"
)

// Finding is a line of the report.
type Finding struct {
	Check string `json:"check"` // what was checked
	Level Level  `json:"level"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do
}

// Check checks one thing, and returns one or more findings. It ends when ctx does.
type Check interface {
	Name() string
	Look(ctx context.Context) []Finding
}

// Func makes a check from a function. The findings need not name it.
func Func(name string, look func(context.Context) []Finding) Check { return check{name, look} }

type check struct {
	name string
	look func(context.Context) []Finding
}

func (c check) Name() string                       { return c.name }
func (c check) Look(ctx context.Context) []Finding { return c.look(ctx) }

// Fine returns a finding that is OK. The text is formatted as by Sprintf, here and below.
func Fine(format string, args ...any) Finding {
	return Finding{Level: OK, Found: fmt.Sprintf(format, args...)}
}

// Warn returns a Warning; do is what to do.
func Warn(do, format string, args ...any) Finding {
	return Finding{Level: Warning, Found: fmt.Sprintf(format, args...), Do: do}
}

// Wrong returns a Fault; do is what to do.
func Wrong(do, format string, args ...any) Finding {
	return Finding{Level: Fault, Found: fmt.Sprintf(format, args...), Do: do}
}

// Examine runs checks concurrently, each for at most limit, and reports the findings in the order
// of the checks, as soon as they are known. It returns the number of faults. A check that ends only
// because of ctx is a fault itself.
func Examine(ctx context.Context, limit time.Duration, checks []Check, report func(Finding)) (faults int) {
	looked := make([]chan []Finding, len(checks))
	for i, check := range checks {
		looked[i] = make(chan []Finding, 1)
		go func() { looked[i] <- look(ctx, limit, check) }() // awaited below
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
		return []Finding{Wrong("repeat the check; if this persists, check the service that it uses", "no answer within %s", limit)}
	}
	return found
}

// Role checks whether the bus permits this client the requests of a role's programs, one finding
// each. refused asks the bus.
func Role(role access.Role, scope access.Scope, refused func(context.Context, jetstream.Permits) (jetstream.Permits, error)) Check {
	return Func("role "+string(role), func(ctx context.Context) (all []Finding) {
		needs, err := role.Needs(scope)
		if err != nil {
			return []Finding{Warn("--role, --pipeline and --class select the permissions to check", "permissions unknown: %v", err)}
		}
		for _, need := range needs {
			no, err := refused(ctx, jetstream.Permits{Publish: need.Publish, Subscribe: need.Subscribe})
			if err != nil {
				return append(all, Wrong("see the findings of the bus", "unknown whether it may %s: %v", need.To, err))
			}
			all = append(all, ofNeed(role, need, no))
		}
		return all
	})
}

func ofNeed(role access.Role, need access.Need, no jetstream.Permits) Finding {
	of, refused := len(need.Publish)+len(need.Subscribe), len(no.Publish)+len(no.Subscribe)
	do := fmt.Sprintf("`stoker access nats %s` prints the permissions to configure on the server", role)
	var first string
	switch {
	case refused == 0:
		return Fine("may %s", need.To)
	case len(no.Publish) > 0:
		first = "publish to " + no.Publish[0]
	default:
		first = "subscribe to " + no.Subscribe[0]
		do += "; --nats-inbox (NATS_INBOX_PREFIX) sets the inbox prefix"
	}
	return Wrong(do, "may not %s: refused to %s (%d of %d subjects)", need.To, first, refused, of)
}
