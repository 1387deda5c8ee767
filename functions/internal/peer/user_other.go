//go:build !linux

package peer

import "net"

// Supported reports whether this system lists the user of a socket.
const Supported = false

func isUsers(_, _ *net.TCPAddr) bool { return false }
