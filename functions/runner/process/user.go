package process

import (
	"fmt"
	"strconv"
	"strings"
)

// UserEnv says whether each process of a module has a user ID of its own: off, the default; on, which is defaultUsers; or a range of IDs
// that nobody else on the machine uses, such as 70000-70499.
const UserEnv = "STOKER_MODULE_USER"

// defaultUsers are IDs that distributions leave free: below those that systemd gives away (61184), above those of people.
const defaultUsers = "60600-61099"

// Bounds of a range. IDs below are for the system and for people; more than the most cost a look at each for nothing.
const (
	leastUser = 1000
	fewUsers  = 16
	mostUsers = 100_000
)

// User is a user ID, with the group of the same number, that one process and all that it starts have for themselves. They are in no other
// group. A nil User is that of this process.
type User struct {
	ID    int
	users *Users
	free  func() // gives the ID back
}

// release gives the ID back. No process may have it any more.
func (u *User) release() {
	if u != nil {
		u.free()
	}
}

// parseUsers reads a value of UserEnv. ok is false where modules have the user of the worker.
func parseUsers(text string) (first, last int, ok bool, err error) {
	switch text {
	case "", "off":
		return 0, 0, false, nil
	case "on":
		text = defaultUsers
	}
	from, to, isRange := strings.Cut(text, "-")
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	if !isRange || errFirst != nil || errLast != nil {
		return 0, 0, false, fmt.Errorf("%s is %q: expected on, off or a range of user IDs like %s", UserEnv, text, defaultUsers)
	}
	if count := last - first + 1; first < leastUser || count < fewUsers || count > mostUsers {
		return 0, 0, false, fmt.Errorf("%s is %q: expected from %d to %d user IDs, the first one not below %d", UserEnv, text, fewUsers, mostUsers, leastUser)
	}
	return first, last, true, nil
}
