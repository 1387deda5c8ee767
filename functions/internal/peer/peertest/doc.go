// Package peertest sends requests as another user of the machine, from a separate process.
//
// That process runs the binary of the test that imports the package, with the requests in the
// environment. Only root can start a process as another user.
package peertest
