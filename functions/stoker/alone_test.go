package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/local"
)

// alone checks that a stack is accessible only to its user: alone LOG. No other user can read its
// data folder, no other machine can reach a port of its process, and a page that a browser reached
// by another host name gets nothing from its servers.
func alone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: alone LOG")
	}
	dir := ts.MkAbs("data/stoker")
	connection, err := local.ReadConnection(dir)
	ts.Check(err)
	ts.Check(ownersAlone(dir))
	at, err := listening(connection.PID)
	ts.Check(err)
	for _, address := range at {
		if !address.IsLoopback() {
			ts.Fatalf("the stack listens on %s, not on loopback alone", address)
		}
	}
	const servers = 3 // bus, store, console
	if len(at) < servers {
		ts.Fatalf("the stack listens on %v: at least %d ports were expected", at, servers)
	}
	log, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	page := consoleAddress.FindSubmatch(log)
	if page == nil {
		ts.Fatalf("no console in %s", log)
	}
	rebound(ts, string(page[1])+"/", http.StatusMisdirectedRequest)
	rebound(ts, connection.S3+"/", http.StatusForbidden)
	rebound(ts, connection.S3+"/stoker?list-type=2", http.StatusForbidden)
	_, bus, _ := strings.Cut(connection.NATS, "@")
	_, err = asked("http://" + bus + "/")
	if err == nil {
		ts.Fatalf("the bus answers HTTP")
	}
}

// ownersAlone returns an error if users other than the owner may enter, or read from outside,
// anything in the data folder.
func ownersAlone(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("%s is %s: others may look into it", path, info.Mode())
		}
		if entry.IsDir() && path != dir {
			return fs.SkipDir // files below a folder that nobody else can enter are private
		}
		return nil
	})
}

// rebound requests a server by another host name, like a browser whose page has changed its address
// (DNS rebinding).
func rebound(ts *testscript.TestScript, url string, status int) {
	answer, err := asked(url)
	ts.Check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	if answer.StatusCode != status || bytes.Contains(body, []byte("<Contents>")) {
		ts.Fatalf("%s by another name: %s\n%s", url, answer.Status, body)
	}
}

func asked(url string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Host = "evil.example"
	request.Header.Set("Origin", "http://evil.example")
	return (&http.Client{Timeout: 2 * time.Minute}).Do(request)
}

// listening returns the addresses on which a process accepts connections, as Linux lists them
// (proc_pid_fd(5), proc_net_tcp(5)).
func listening(pid int) (at []net.IP, err error) {
	ours := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name, _ := os.Readlink(file) // one may have been closed
		ours[strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]")] = true
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			const local, state, inode, listens = 1, 3, 9, "0A"
			if field := strings.Fields(line); len(field) > inode && field[state] == listens && ours[field[inode]] {
				ip, err := kernelsIP(field[local])
				if err != nil {
					return nil, err
				}
				at = append(at, ip)
			}
		}
	}
	return at, nil
}

// kernelsIP parses an address in 32-bit words in the byte order of the machine.
func kernelsIP(text string) (net.IP, error) {
	digits, _, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw)%4 != 0 {
		return nil, fmt.Errorf("address %q: %w", text, err)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	return net.IP(raw), nil
}
