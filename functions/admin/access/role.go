package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Role is a set of permissions in a deployment.
type Role string

// The roles of a deployment.
const (
	// Publishes the events of its pipelines, and uploads what they name.
	Upstream   Role = "upstream"
	Dispatcher Role = "dispatcher" // joins events and enqueues jobs; does not use the store
	Worker     Role = "worker"     // works on jobs: reads inputs, writes models
	// Publishes events for uploads and for HTTP requests, and checks what they will do.
	Bridge   Role = "bridge"
	Console  Role = "console"  // reads everything, changes nothing
	Notifier Role = "notifier" // sends failures to a webhook; does not use the store
	// Sends lineage to a catalog: reads like the console, with a consumer of events.
	Exporter Role = "exporter"
	// Everything that Stoker can do in the account: creates streams, deploys, retries, cancels,
	// collects garbage.
	Operator Role = "operator"
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

// Scope narrows a role. A field that a role does not use is refused, so that no operator relies on
// a limit without effect.
type Scope struct {
	Pipelines []string // of an upstream: pipelines whose events it may publish; at least one
	// Of an upstream: kinds of these events; default: examples.ready and transform.ready.
	Kinds   []events.Kind
	Classes []string // of a worker: classes whose jobs it may claim; default: any
	// Of a notifier or an exporter: names of its consumers; default: the one of its command.
	Names []string
	// Prefix for replies; default: _INBOX. and the role; a User's: _INBOX. and its name.
	Inbox string
}

// check also refuses what would be more than one token of a subject.
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
			return fmt.Errorf("role %s: %s apply only to the role %s", role, field.name, names(field.of, " or "))
		}
	}
	if role == Upstream && len(s.Pipelines) == 0 {
		return fmt.Errorf("role %s: expected at least one pipeline", role)
	}
	return s.checkNames(role)
}

func (s Scope) checkNames(role Role) error {
	for field, names := range map[string][]string{"pipeline": s.Pipelines, "class": s.Classes, "name": s.Names} {
		check := events.CheckName
		if field == "class" {
			check = events.CheckClass
		}
		for _, name := range names {
			if err := check(field, name); err != nil {
				return fmt.Errorf("role %s: %w", role, err)
			}
		}
	}
	for _, place := range s.places(role) {
		if notifiers := strings.HasPrefix(place, notifying); place == dispatching || notifiers != (role == Notifier) {
			return fmt.Errorf("role %s: name %q is the consumer of another role: choose another name", role, place)
		}
	}
	for _, kind := range s.Kinds {
		if known := events.PublishedBy(events.ByUpstream); !slices.Contains(known, kind) {
			return fmt.Errorf("role %s: kind %q: expected one of %v", role, kind, known)
		}
	}
	for token := range strings.SplitSeq(s.inbox(role), ".") {
		if token == "" || strings.ContainsAny(token, "*> \t\r\n") {
			return fmt.Errorf("role %s: inbox %q: expected a subject without wildcards", role, s.Inbox)
		}
	}
	return nil
}

func (s Scope) kinds() []events.Kind {
	if len(s.Kinds) == 0 { // only inputs: the other roles' kinds don't depend on it
		return []events.Kind{events.KindExamplesReady, events.KindTransformReady}
	}
	return s.Kinds
}

// places returns the names of a notifier's or an exporter's durable consumers.
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
