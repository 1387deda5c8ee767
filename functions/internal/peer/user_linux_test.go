package peer

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/internal/peer/peertest"
)

// listen returns a listener at an address. It skips the test if this machine has no such address.
func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil && strings.HasPrefix(address, "[") {
		t.Skip("this machine has no IPv6: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func dial(t *testing.T, listener net.Listener) (client, accepted net.Conn) {
	t.Helper()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	accepted, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return client, accepted
}

// KerasTuner's gRPC reaches 127.0.0.1 by sockets of both kinds of addresses, which are in different
// tables.
func TestASocketOfBothKindsOfAddressesIsKnown(t *testing.T) {
	t.Parallel()
	listener := listen(t, "127.0.0.1:0")
	socket, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		t.Skip("this kernel has no IPv6, so that nobody comes by it")
	}
	if err != nil {
		t.Fatal("a socket of IPv6: ", err)
	}
	defer unix.Close(socket)
	to := unix.SockaddrInet6{Port: listener.Addr().(*net.TCPAddr).Port}
	copy(to.Addr[:], net.IPv4(127, 0, 0, 1).To16())
	if err := unix.Connect(socket, &to); err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if !SameUser(accepted) {
		t.Error("a connection of this very process is taken for another user's")
	}
}

func TestAConnectionOfThisUserIsKnown(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			_, accepted := dial(t, listen(t, address))
			if !SameUser(accepted) {
				t.Error("a connection of this very process is taken for another user's")
			}
			here, there := accepted.LocalAddr().(*net.TCPAddr), accepted.RemoteAddr().(*net.TCPAddr)
			if user, err := userOf(there, here); err != nil || user != os.Geteuid() {
				t.Errorf("user %d, %v, expected %d", user, err, os.Geteuid())
			}
			if user, err := userOf(&net.TCPAddr{IP: there.IP, Port: 1}, here); err == nil {
				t.Errorf("user %d of a socket that is not there", user)
			}
		})
	}
}

// Linux reports root as the user of a socket that its process has closed: a server of root's must
// not accept it as its own.
func TestAClosedConnectionIsNobodys(t *testing.T) {
	t.Parallel()
	client, accepted := dial(t, listen(t, "127.0.0.1:0"))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	here, there := accepted.LocalAddr().(*net.TCPAddr), accepted.RemoteAddr().(*net.TCPAddr)
	if user, err := userOf(there, here); err == nil {
		t.Errorf("a socket that was closed is of user %d", user)
	}
}

func TestAConnectionOfAnotherUserIsClosed(t *testing.T) {
	t.Parallel()
	plain := listen(t, "127.0.0.1:0")
	served := make(chan error, 1)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { served <- server.Serve(Listener{plain}) }()
	t.Cleanup(func() { server.Close(); <-served })
	url := "http://" + plain.Addr().String()
	if answer := peertest.Send(t, peertest.Request{URL: url})[0]; answer.Error == "" {
		t.Errorf("another user is served: %d", answer.Status)
	}
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal("the same user is not served: ", err)
	}
	answer.Body.Close()
}
