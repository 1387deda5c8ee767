package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Supported reports whether this system lists the user of a socket.
const Supported = true

// unmapped is the user that Linux reports for each user that the user namespace of this process
// does not map (user_namespaces(7)).
const unmapped = 65534

// isUsers reports whether the socket with these addresses belongs to the user of this process.
func isUsers(local, remote *net.TCPAddr) bool {
	user, err := userOf(local, remote)
	return err == nil && user == os.Geteuid() && (user != unmapped || mapsEveryUser())
}

// userOf returns the user of the open socket with these two addresses. The tables are /proc/net/tcp
// and, for sockets of IPv6 and those that reach IPv4 by mapped addresses, as KerasTuner's do,
// /proc/net/tcp6.
func userOf(local, remote *net.TCPAddr) (int, error) {
	for table, form := range map[string]func(*net.TCPAddr) string{"/proc/net/tcp": inTable, "/proc/net/tcp6": inTable6} {
		here, there := form(local), form(remote)
		if here == "" || there == "" {
			continue
		}
		if user, err := lookUp(table, here, there); user >= 0 || err != nil {
			return user, err
		}
	}
	return 0, fmt.Errorf("/proc/net/tcp and tcp6: no open socket from %s to %s", local, remote)
}

// Fields of a line of the tables (proc_pid_net(5)).
const (
	fieldLocal  = 1
	fieldRemote = 2
	fieldUser   = 7
	fieldInode  = 9
)

// lookUp returns the user of the socket with two addresses in a table; -1 if it is not there. A
// socket without an inode was closed by its process; Linux reports root as its user, so it counts
// as not there.
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
		if len(fields) > fieldInode && fields[fieldLocal] == local && fields[fieldRemote] == remote && fields[fieldInode] != "0" {
			return strconv.Atoi(fields[fieldUser])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return -1, nil
}

// mapsEveryUser reports whether the user namespace of this process maps all users, like the
// machine's own.
func mapsEveryUser() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}

// inTable returns an IPv4 address in the form of the table: 0100007F:1F90 on a little-endian
// machine. It is empty for others.
func inTable(a *net.TCPAddr) string {
	ip := a.IP.To4()
	if ip == nil {
		return ""
	}
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip), a.Port)
}

// inTable6 returns an address in words of four bytes; an IPv4 address is mapped into IPv6,
// ::ffff:127.0.0.1.
func inTable6(a *net.TCPAddr) string {
	ip := a.IP.To16()
	if ip == nil {
		return ""
	}
	var words strings.Builder
	for i := 0; i < len(ip); i += 4 {
		fmt.Fprintf(&words, "%08X", binary.NativeEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", words.String(), a.Port)
}
