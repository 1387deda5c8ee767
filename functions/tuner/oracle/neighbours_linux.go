package oracle

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// ours says whether the other end of a connection on this machine is a process of this user's. Linux tells whose a socket is in
// /proc/net/tcp (proc_pid_net(5)): local address, remote address and user are its second, third and eighth fields.
func ours(connection net.Conn) bool {
	here, isTCP := connection.LocalAddr().(*net.TCPAddr)
	there, isTCPToo := connection.RemoteAddr().(*net.TCPAddr)
	if !isTCP || !isTCPToo {
		return false
	}
	user, err := userOf(there, here)
	return err == nil && user == os.Geteuid()
}

// userOf is whose the socket is with these two addresses.
func userOf(local, remote *net.TCPAddr) (int, error) {
	table, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	defer table.Close()
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 7 && fields[1] == inTable(local) && fields[2] == inTable(remote) {
			return strconv.Atoi(fields[7])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read /proc/net/tcp: %w", err)
	}
	return 0, fmt.Errorf("/proc/net/tcp: no socket from %s to %s", local, remote)
}

// inTable is an address as the table has it: 0100007F:1F90 on a machine whose lowest byte comes first.
func inTable(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
