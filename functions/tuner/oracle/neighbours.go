package oracle

import "net"

// neighbours keeps other users of the machine out: the service has no credentials, and whoever reaches it may end trials, and have folders
// laid out and taken away. Their connections are closed before a word is read.
type neighbours struct {
	net.Listener
	ours func(net.Conn) bool
}

// Accept implements net.Listener.
func (n neighbours) Accept() (net.Conn, error) {
	for {
		connection, err := n.Listener.Accept()
		if err != nil || n.ours(connection) {
			return connection, err
		}
		_ = connection.Close()
	}
}
