// Package compat helps to test formats that outlive a version: entries of key-value buckets,
// documents in the store, logs, files of settings. Each package keeps what earlier versions wrote
// in testdata/frozen, one file for each change of a format. Every later version must read all of
// them, and write them again without losing a member.
//
// Read Format first.
package compat
