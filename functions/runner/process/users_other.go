//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// Users are Linux's: there are none here.
type Users struct{}

// OpenUsers fails where users are asked for.
func OpenUsers(text string) (*Users, error) {
	if _, _, ok, err := parseUsers(text); err != nil || !ok {
		return nil, err
	}
	return nil, CanChangeUser()
}

// CanChangeUser says that modules can't have users of their own here.
func CanChangeUser() error { return errors.New("modules have users of their own on Linux alone") }

// Enter does nothing: no process is started by it here.
func Enter([]string) (told bool, err error) { return false, nil }

// Has is false: there are no IDs.
func (*Users) Has(int) bool { return false }

// With has do run with the user of this process.
func (*Users) With(do func(*User) error) error { return do(nil) }

// Keeper has do run with the user of this process.
func (*Users) Keeper(do func(*User) error) error { return do(nil) }

func (*Users) String() string                                { return "off" }
func (*Users) lease() (*User, error)                         { return nil, nil }
func (*User) endAll(int)                                     {}
func (*User) command(*exec.Cmd, Confinement, *os.File) error { return CanChangeUser() }
