// Package peer determines the user of the process at the other end of a TCP connection within this
// machine.
//
// Every user of the machine can reach a server on loopback. Linux lists the user of each socket in
// /proc/net/tcp and /proc/net/tcp6; other systems don't, and Supported is false there.
//
// The answer is about the process that opened the socket. A process that connects on behalf of
// others, such as a proxy, counts as its own user. Read SameUser first.
package peer

import "net"

// Listener accepts connections of the user of this process, and closes those of other users before
// reading a byte. If Supported is false it accepts all.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil || !Supported || SameUser(connection) {
			return connection, err
		}
		_ = connection.Close()
	}
}

// SameUser reports whether a process of this process's effective user holds the other end of a
// connection. It is false if the user can't be determined: if the peer is on another machine, has
// closed its end, or Supported is false.
func SameUser(connection net.Conn) bool {
	here, isTCP := connection.LocalAddr().(*net.TCPAddr)
	there, isTCPToo := connection.RemoteAddr().(*net.TCPAddr)
	return isTCP && isTCPToo && isUsers(there, here)
}
