// Package peertest sends requests as another user of the machine, from a process of its own.
//
// A test that imports it is that process too: it starts its own binary again, with the user and the requests in the environment.
// Only root can start a process as another user.
package peertest
