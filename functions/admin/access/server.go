package access

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Account is a tenant of the bus: streams, buckets and users of its own, invisible to other
// accounts.
type Account struct {
	Name   string
	Users  []User
	Limits Limits
}

// Limits are what a tenant may use of JetStream. A zero value stands for the defaults.
type Limits struct {
	// On all servers together, counting each replica: a number with KB, MB, GB or TB; default:
	// 32GB.
	Store string
	// The same, in memory: PROGRESS and WORKERS, 144 MiB, for each replica; default 1GB.
	Memory    string
	Streams   int // buckets are streams too; default 32
	Consumers int // of each stream; default 10000
}

// User connects with an nkey.
type User struct {
	Name  string // unique in its account; default: the role
	Role  Role
	Scope Scope
	// The public key, U..., or $NAME of an environment variable of the server that contains it.
	Key string
}

// Title returns the name of the user.
func (u User) Title() string { return cmp.Or(u.Name, string(u.Role)) }

// Bus returns what the user may do on the bus, within its account. Its inbox is its own: default
// _INBOX. and its name.
func (u User) Bus() (Permissions, error) {
	if err := events.CheckName("user", u.Title()); err != nil {
		return Permissions{}, fmt.Errorf("role %s: %w", u.Role, err)
	}
	return u.Role.Bus(u.scope())
}

func (u User) scope() Scope {
	scope := u.Scope
	scope.Inbox = cmp.Or(scope.Inbox, "_INBOX."+u.Title())
	return scope
}

// sizeText matches a size in nats-server's configuration. Longer numbers of terabytes overflow it.
var sizeText = regexp.MustCompile(`^[1-9][0-9]{0,5}(KB|MB|GB|TB)$`)

// withDefaults fills in missing limits, and refuses values that the server would misread: to it a
// limit below 0 is no limit.
func (l Limits) withDefaults() (Limits, error) {
	l.Store, l.Memory = cmp.Or(l.Store, "32GB"), cmp.Or(l.Memory, "1GB")
	for name, size := range map[string]string{"store": l.Store, "memory": l.Memory} {
		if !sizeText.MatchString(size) {
			return l, fmt.Errorf("limit of %s %q: expected a number with KB, MB, GB or TB", name, size)
		}
	}
	if l.Streams < 0 || l.Consumers < 0 {
		return l, fmt.Errorf("limits of %d streams and %d consumers: expected numbers above 0", l.Streams, l.Consumers)
	}
	l.Streams, l.Consumers = cmp.Or(l.Streams, 32), cmp.Or(l.Consumers, 10000)
	return l, nil
}

// config returns the server's configuration of the limits.
func (l Limits) config() string {
	return fmt.Sprintf("jetstream { max_file: %s, max_memory: %s, max_streams: %d, max_consumers: %d }", l.Store, l.Memory, l.Streams, l.Consumers)
}

var (
	accountName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,49}$`)
	publicKey   = regexp.MustCompile(`^(U[A-Z2-7]{55}|\$[A-Z][A-Z0-9_]*)$`)
)

// check refuses values that the server would misread.
func (a Account) check() error {
	if !accountName.MatchString(a.Name) || strings.EqualFold(a.Name, "SYS") {
		return fmt.Errorf("account %q: expected letters, digits, - and _, at most 50, and not SYS, which is the server's system account", a.Name)
	}
	seen := map[string]bool{}
	for i, user := range a.Users {
		if err := user.apart(a.Users[:i]); err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		switch {
		case !publicKey.MatchString(user.Key):
			return fmt.Errorf("account %s, %s: key %q: expected a user's public nkey (56 characters, U first), or $NAME of an environment variable",
				a.Name, user.Role, redacted(user.Key))
		case seen[user.Key]:
			return fmt.Errorf("account %s: key %s is listed twice: give each user a key of its own", a.Name, user.Key)
		}
		seen[user.Key] = true
	}
	return nil
}

// apart returns an error if the user has the name of another one, or would receive its replies.
func (u User) apart(others []User) error {
	inbox := u.scope().inbox(u.Role) + "."
	for _, other := range others {
		if u.Title() == other.Title() {
			return fmt.Errorf("user %s is listed twice: give each user of a role a name of its own", u.Title())
		}
		if theirs := other.scope().inbox(other.Role) + "."; strings.HasPrefix(inbox, theirs) || strings.HasPrefix(theirs, inbox) {
			return fmt.Errorf("users %s and %s: inboxes %s> and %s> overlap: each user may receive its own replies only", other.Title(), u.Title(), theirs, inbox)
		}
	}
	return nil
}

// redacted keeps a seed out of errors: it looks much like a public key, and may be passed by
// mistake.
func redacted(key string) string {
	if strings.HasPrefix(key, "S") {
		return "S... (a seed, which must stay secret: give the public key)"
	}
	return key
}

// WriteAccounts writes accounts in the format of nats-server's configuration, to be included at its
// top level. If one account is invalid, it writes nothing.
//
// Upstream's users are in an account of their own, <name>-upstream, to which the tenant's account
// exports only the subjects of their events. Within one account permissions would not confine them:
// a request names the subject of its reply, and the server writes the reply there with its own
// permissions, even into a bucket. A reply to another account stays in that account.
func WriteAccounts(w io.Writer, accounts ...Account) error {
	var text bytes.Buffer
	p := &printer{&text}
	p.line(0, "accounts {")
	for _, account := range accounts {
		if err := account.check(); err != nil {
			return err
		}
		if err := p.tenant(account); err != nil {
			return fmt.Errorf("account %s: %w", account.Name, err)
		}
	}
	p.line(0, "}")
	_, err := text.WriteTo(w)
	return err
}

// printer writes lines.
type printer struct{ text *bytes.Buffer }

func (p *printer) line(depth int, format string, args ...any) {
	fmt.Fprintf(p.text, strings.Repeat("  ", depth)+format+"\n", args...)
}

// member is a user with its permissions.
type member struct {
	User
	allowed Permissions
}

// tenant writes a tenant's account, and that of its upstream, if it has one.
func (p *printer) tenant(a Account) error {
	var inside, upstream []member
	var lent []string
	for _, user := range a.Users {
		allowed, err := user.Bus()
		if err != nil {
			return err
		}
		if user.Role != Upstream {
			inside = append(inside, member{user, allowed})
			continue
		}
		lent = append(lent, allowed.Publish.Allow...)
		for i, subject := range allowed.Publish.Allow {
			allowed.Publish.Allow[i] = a.borrowed(subject)
		}
		upstream = append(upstream, member{user, allowed})
	}
	slices.Sort(lent)
	lent = slices.Compact(lent)
	limits, err := a.Limits.withDefaults()
	if err != nil {
		return err
	}
	p.account(a.Name, limits.config(), "", inside, "exports", lent, func(subject string) string {
		return fmt.Sprintf("{ service: %q, accounts: [%s] }", subject, a.Name+upstreamSuffix)
	})
	if len(upstream) > 0 {
		p.account(a.Name+upstreamSuffix, "jetstream: disabled # its events are kept by "+a.Name, ", and "+a.Name+" as JetStream's domain", upstream, "imports", lent, func(subject string) string {
			return fmt.Sprintf("{ service: { account: %s, subject: %q }, to: %q }", a.Name, subject, a.borrowed(subject))
		})
	}
	return nil
}

const upstreamSuffix = "-upstream"

// borrowed returns the name of a subject of the tenant in its upstream's account. Requests to
// JetStream go to the tenant's, a domain with the tenant's name.
func (a Account) borrowed(subject string) string {
	if rest, ok := strings.CutPrefix(subject, "$JS.API."); ok {
		return "$JS." + a.Name + ".API." + rest
	}
	return subject
}

// account writes an account, its users, and what it exports or imports.
func (p *printer) account(name, jetstream, domain string, users []member, direction string, subjects []string, shared func(string) string) {
	p.line(1, "%s {", name)
	p.line(2, "%s", jetstream)
	p.line(2, "users: [")
	for _, user := range users {
		p.user(user, domain)
	}
	p.line(2, "]")
	if len(subjects) > 0 {
		p.line(2, "%s: [", direction)
		for _, subject := range subjects {
			p.line(3, "%s", shared(subject))
		}
		p.line(2, "]")
	}
	p.line(1, "}")
}

func (p *printer) user(u member, domain string) {
	title := string(u.Role)
	if u.Title() != title {
		title += " " + u.Title()
	}
	p.line(3, "{ # %s: its clients take %s as the prefix of their inboxes%s", title, u.allowed.Inbox, domain)
	p.line(4, "nkey: %s", u.Key)
	p.line(4, "permissions {")
	p.subjects("publish", u.allowed.Publish)
	p.subjects("subscribe", u.allowed.Subscribe)
	p.line(4, "}")
	p.line(3, "}")
}

func (p *printer) subjects(direction string, s Subjects) {
	p.line(5, "%s {", direction)
	p.list("allow", s.Allow)
	if len(s.Deny) > 0 {
		p.list("deny", s.Deny)
	}
	p.line(5, "}")
}

// list quotes each subject, because an unquoted $ begins a variable.
func (p *printer) list(name string, subjects []string) {
	p.line(6, "%s: [", name)
	for _, subject := range subjects {
		p.line(7, "%q", subject)
	}
	p.line(6, "]")
}
