package oracle

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// KerasTuner's gRPC reaches 127.0.0.1 by sockets of both kinds of addresses, which stand in another table.
func TestASocketOfBothKindsOfAddressesIsKnown(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
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
	if !ours(accepted) {
		t.Error("a connection of this very process is taken for another user's")
	}
}

func TestWhoseAConnectionIsIsKnown(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var asked atomic.Int32
	kept := neighbours{listener, func(c net.Conn) bool { return asked.Add(1) > 1 && ours(c) }}
	for range 2 {
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
	}
	accepted, err := kept.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if asked.Load() != 2 {
		t.Errorf("asked of %d connections, expected the first to be passed over", asked.Load())
	}
	here, there := accepted.LocalAddr().(*net.TCPAddr), accepted.RemoteAddr().(*net.TCPAddr)
	if user, err := userOf(there, here); err != nil || user != os.Geteuid() {
		t.Errorf("user %d, %v, expected %d", user, err, os.Geteuid())
	}
	if _, err := userOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, here); err == nil {
		t.Error("found a socket that is not there")
	}
}
