package oracle

import (
	"net"
	"os"
	"sync/atomic"
	"testing"
)

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
