package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Role is what somebody does in a deployment.
type Role string

// The roles.
const (
	Upstream   Role = "upstream"   // publishes the facts of its pipelines, and uploads what they name
	Dispatcher Role = "dispatcher" // joins facts and offers jobs; the store is closed to it
	Worker     Role = "worker"     // works on jobs: reads inputs, leaves models
	Bridge     Role = "bridge"     // makes facts of what a store tells of its uploads
	Console    Role = "console"    // sees everything, changes nothing
	Operator   Role = "operator"   // whatever Stoker can do in the account: makes streams, deploys, retries, cancels, collects
)

// Roles lists every role.
func Roles() []Role { return []Role{Upstream, Dispatcher, Worker, Bridge, Console, Operator} }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	if role := Role(name); slices.Contains(Roles(), role) {
		return role, nil
	}
	var names []string
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return "", fmt.Errorf("role %q: expected one of %s", name, strings.Join(names, ", "))
}

// Scope narrows a role. What a role has no use for is refused, so that nobody trusts in a limit that is none.
type Scope struct {
	Pipelines []string      // of an upstream: whose facts it may tell; at least one
	Kinds     []events.Kind // of an upstream: which of them; default: examples.ready and transform.ready
	Classes   []string      // of a worker: whose jobs it may take; default: any
	Inbox     string        // where answers are heard; default: _INBOX. and the role, so that no role hears another's
}

// check also keeps out what would be more than one token of a subject.
func (s Scope) check(role Role) error {
	for _, field := range []struct {
		name  string
		given bool
		of    Role
	}{
		{"pipelines", len(s.Pipelines) > 0, Upstream}, {"kinds", len(s.Kinds) > 0, Upstream}, {"classes", len(s.Classes) > 0, Worker},
	} {
		if field.given && role != field.of {
			return fmt.Errorf("role %s: %s are of the role %s alone", role, field.name, field.of)
		}
	}
	if role == Upstream && len(s.Pipelines) == 0 {
		return fmt.Errorf("role %s: expected at least one pipeline", role)
	}
	return s.checkNames(role)
}

func (s Scope) checkNames(role Role) error {
	for field, names := range map[string][]string{"pipeline": s.Pipelines, "class": s.Classes} {
		for _, name := range names {
			if err := events.CheckName(field, name); err != nil {
				return fmt.Errorf("role %s: %w", role, err)
			}
		}
	}
	for _, kind := range s.Kinds {
		if !slices.Contains(toldByUpstream(), kind) {
			return fmt.Errorf("role %s: kind %q: expected one of %v", role, kind, toldByUpstream())
		}
	}
	for token := range strings.SplitSeq(s.inbox(role), ".") {
		if token == "" || strings.ContainsAny(token, "*> \t\r\n") {
			return fmt.Errorf("role %s: inbox %q: expected tokens of a subject, without wildcards", role, s.Inbox)
		}
	}
	return nil
}

// toldByUpstream are the kinds that others than Stoker tell.
func toldByUpstream() []events.Kind {
	return []events.Kind{events.KindExamplesReady, events.KindTransformReady, events.KindHParamsReady, events.KindModelBlessed}
}

func (s Scope) kinds() []events.Kind {
	if len(s.Kinds) == 0 {
		return []events.Kind{events.KindExamplesReady, events.KindTransformReady}
	}
	return s.Kinds
}

func (s Scope) inbox(role Role) string {
	if s.Inbox == "" {
		return "_INBOX." + string(role)
	}
	return s.Inbox
}
