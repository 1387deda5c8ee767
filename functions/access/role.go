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
	Bridge     Role = "bridge"     // publishes events of uploads and of HTTP, and checks what they will do
	Console    Role = "console"    // sees everything, changes nothing
	Notifier   Role = "notifier"   // tells a webhook of failures; the store is closed to it
	Exporter   Role = "exporter"   // tells a catalogue of lineage: the console's eyes, and a place in the facts
	Operator   Role = "operator"   // whatever Stoker can do in the account: makes streams, deploys, retries, cancels, collects
)

// Roles lists every role.
func Roles() []Role {
	return []Role{Upstream, Dispatcher, Worker, Bridge, Console, Notifier, Exporter, Operator}
}

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	if role := Role(name); slices.Contains(Roles(), role) {
		return role, nil
	}
	return "", fmt.Errorf("role %q: expected one of %s", name, names(Roles(), ", "))
}

func names(roles []Role, between string) string {
	var all []string
	for _, role := range roles {
		all = append(all, string(role))
	}
	return strings.Join(all, between)
}

// Scope narrows a role. What a role has no use for is refused, so that nobody trusts in a limit that is none.
type Scope struct {
	Pipelines []string      // of an upstream: whose facts it may tell; at least one
	Kinds     []events.Kind // of an upstream: which of them; default: examples.ready and transform.ready
	Classes   []string      // of a worker: whose jobs it may take; default: any
	Names     []string      // of a notifier or an exporter: by which it keeps its places on the bus; default: the one its command has
	Inbox     string        // where answers are heard; default: _INBOX. and the role; a User's: _INBOX. and its name
}

// check also keeps out what would be more than one token of a subject.
func (s Scope) check(role Role) error {
	for _, field := range []struct {
		name  string
		given bool
		of    []Role
	}{
		{"pipelines", len(s.Pipelines) > 0, []Role{Upstream}}, {"kinds", len(s.Kinds) > 0, []Role{Upstream}},
		{"classes", len(s.Classes) > 0, []Role{Worker}}, {"names", len(s.Names) > 0, []Role{Notifier, Exporter}},
	} {
		if field.given && !slices.Contains(field.of, role) {
			return fmt.Errorf("role %s: %s are of the role %s alone", role, field.name, names(field.of, " or "))
		}
	}
	if role == Upstream && len(s.Pipelines) == 0 {
		return fmt.Errorf("role %s: expected at least one pipeline", role)
	}
	return s.checkNames(role)
}

func (s Scope) checkNames(role Role) error {
	for field, names := range map[string][]string{"pipeline": s.Pipelines, "class": s.Classes, "name": s.Names} {
		for _, name := range names {
			if err := events.CheckName(field, name); err != nil {
				return fmt.Errorf("role %s: %w", role, err)
			}
		}
	}
	for _, place := range s.places(role) {
		if notifiers := strings.HasPrefix(place, notifying); place == dispatching || notifiers != (role == Notifier) {
			return fmt.Errorf("role %s: name %q is another's place in the facts", role, place)
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

// places are what a notifier's or an exporter's lasting consumers are called.
func (s Scope) places(role Role) (all []string) {
	switch {
	case role == Notifier && len(s.Names) == 0:
		return []string{notifying + standardName}
	case role == Exporter && len(s.Names) == 0:
		return []string{exporting}
	case role != Notifier:
		return s.Names
	}
	for _, name := range s.Names {
		all = append(all, notifying+name)
	}
	return all
}

func (s Scope) inbox(role Role) string {
	if s.Inbox == "" {
		return "_INBOX." + string(role)
	}
	return s.Inbox
}
