package multihost

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
)

// Options of one host of a group. All hosts have the same Hosts and Token.
type Options struct {
	Hosts  []string // host:port of each one's TensorFlow, as TF_CONFIG has them. The leader, the first, hears members at the port behind its own
	Rank   int      // which of them this is: 0 for the leader
	Token  string   // known to the group and to nobody else
	Logger *slog.Logger
}

// TokenBytes is the least length of a token. Whoever can connect may guess at it in peace: it is to
// be random.
const TokenBytes = 32

// maxHosts keeps a slip of the pen from waiting for a city.
const maxHosts = 64

// Check says what is wrong with the options.
func (o Options) Check() error {
	switch {
	case len(o.Hosts) < 2 || len(o.Hosts) > maxHosts:
		return fmt.Errorf("hosts: expected 2 to %d, got %d", maxHosts, len(o.Hosts))
	case o.Rank < 0 || o.Rank >= len(o.Hosts):
		return fmt.Errorf("rank: expected 0 to %d, the place of this host among them, got %d", len(o.Hosts)-1, o.Rank)
	case len(o.Token) < TokenBytes:
		return fmt.Errorf("token: expected at least %d characters, random ones", TokenBytes)
	}
	for i, host := range o.Hosts {
		if _, err := portOf(host); err != nil {
			return err
		}
		if slices.Index(o.Hosts, host) != i {
			return fmt.Errorf("hosts: %s is there twice", host)
		}
	}
	return nil
}

func portOf(host string) (int, error) {
	name, port, err := net.SplitHostPort(host)
	number, bad := strconv.Atoi(port)
	if err := errors.Join(err, bad); err != nil || name == "" || number < 1 || number > 65534 {
		return 0, fmt.Errorf("hosts: expected host:port with a port of 1 to 65534, got %q", host)
	}
	return number, nil
}

// meeting is where the leader hears its members, as they reach it.
func (o Options) meeting() (host, port string) {
	name, _, _ := net.SplitHostPort(o.Hosts[0]) // checked
	number, _ := portOf(o.Hosts[0])
	return name, strconv.Itoa(number + 1)
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// name is how a host is called in errors and logs.
func (o Options) name(rank int) string { return fmt.Sprintf("host %d (%s)", rank, o.Hosts[rank]) }
