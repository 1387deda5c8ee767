package oracle

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
)

// ours says whether the other end of a connection on this machine is a process of this user's. Linux tells whose a socket is in
// /proc/net/tcp and, of sockets that speak both kinds of addresses as KerasTuner's do, /proc/net/tcp6 (proc_pid_net(5)): local address,
// remote address and user are a line's second, third and eighth fields.
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
	for table, form := range map[string]func(*net.TCPAddr) string{"/proc/net/tcp": inTable, "/proc/net/tcp6": inTable6} {
		if user, err := lookUp(table, form(local), form(remote)); user >= 0 || err != nil {
			return user, err
		}
	}
	return 0, fmt.Errorf("/proc/net/tcp and tcp6: no socket from %s to %s", local, remote)
}

// lookUp is the user of the socket with two addresses in a table; -1 if it is not in there.
func lookUp(path, local, remote string) (int, error) {
	table, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	defer table.Close()
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 7 && fields[1] == local && fields[2] == remote {
			return strconv.Atoi(fields[7])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return -1, nil
}

// inTable is an address as the table has it: 0100007F:1F90 on a machine whose lowest byte comes first.
func inTable(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}

// inTable6 is the same address mapped into IPv6, ::ffff:127.0.0.1, in words of four bytes.
func inTable6(a *net.TCPAddr) string {
	ip := a.IP.To16()
	var words strings.Builder
	for i := 0; i < len(ip); i += 4 {
		fmt.Fprintf(&words, "%08X", binary.NativeEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", words.String(), a.Port)
}
