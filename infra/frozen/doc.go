// Package frozen is help for the tests of formats that outlive a version: entries of registers, documents in the store, logs, files of
// settings. Each room keeps what versions have written in testdata/frozen, a file for each change of a format, and each later version
// must read all of them, and write them again with nothing missing.
//
// Read Format first.
package frozen
