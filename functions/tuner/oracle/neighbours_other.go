//go:build !linux

package oracle

import "net"

// ours takes every process of this machine for one of this user's: who it is can't be told here.
func ours(net.Conn) bool { return true }
