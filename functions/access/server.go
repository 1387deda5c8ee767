package access

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Account is a tenant of the bus: streams, registers and users of its own, of which no other account sees anything.
type Account struct {
	Name  string
	Users []User
}

// User is one who comes in by an nkey.
type User struct {
	Role  Role
	Scope Scope
	Key   string // the public key, U..., or $NAME of an environment variable of the server's that has it
}

var (
	accountName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	publicKey   = regexp.MustCompile(`^(U[A-Z2-7]{55}|\$[A-Z][A-Z0-9_]*)$`)
)

// check refuses what the server would read as something else.
func (a Account) check() error {
	if !accountName.MatchString(a.Name) || strings.EqualFold(a.Name, "SYS") {
		return fmt.Errorf("account %q: expected letters, digits, - and _, at most 63, and not SYS, which is the server's own", a.Name)
	}
	seen := map[string]bool{}
	for _, user := range a.Users {
		switch {
		case !publicKey.MatchString(user.Key):
			return fmt.Errorf("account %s, %s: key %q: expected a user's public nkey (56 characters, U first), or $NAME of an environment variable",
				a.Name, user.Role, redacted(user.Key))
		case seen[user.Key]:
			return fmt.Errorf("account %s: key %s is there twice: each user has its own", a.Name, user.Key)
		}
		seen[user.Key] = true
	}
	return nil
}

// redacted keeps a seed out of errors: it looks much like a public key, and is given by mistake.
func redacted(key string) string {
	if strings.HasPrefix(key, "S") {
		return "S... (a seed: it is to stay with its user)"
	}
	return key
}

// WriteAccounts writes accounts as nats-server's configuration has them, to be included at its top level.
func WriteAccounts(w io.Writer, accounts ...Account) error {
	p := &printer{w: w}
	p.line(0, "accounts {")
	for _, account := range accounts {
		if err := account.check(); err != nil {
			return err
		}
		if err := p.account(account); err != nil {
			return fmt.Errorf("account %s: %w", account.Name, err)
		}
	}
	p.line(0, "}")
	return p.err
}

// printer writes lines until one can't be written.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(depth int, format string, args ...any) {
	_, err := fmt.Fprintf(p.w, strings.Repeat("  ", depth)+format+"\n", args...)
	p.err = errors.Join(p.err, err)
}

func (p *printer) account(a Account) error {
	p.line(1, "%s {", a.Name)
	p.line(2, "jetstream: enabled")
	p.line(2, "users: [")
	for _, user := range a.Users {
		allowed, err := user.Role.Bus(user.Scope)
		if err != nil {
			return err
		}
		p.user(user, allowed)
	}
	p.line(2, "]")
	p.line(1, "}")
	return nil
}

func (p *printer) user(u User, allowed Permissions) {
	p.line(3, "{ # %s: its clients take %s as the prefix of their inboxes", u.Role, allowed.Inbox)
	p.line(4, "nkey: %s", u.Key)
	p.line(4, "permissions {")
	p.subjects("publish", allowed.Publish)
	p.subjects("subscribe", allowed.Subscribe)
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

// list quotes each subject: $ begins a variable where it is not.
func (p *printer) list(name string, subjects []string) {
	p.line(6, "%s: [", name)
	for _, subject := range subjects {
		p.line(7, "%q", subject)
	}
	p.line(6, "]")
}
