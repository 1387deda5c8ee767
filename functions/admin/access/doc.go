// Package access defines the permissions of each role in a deployment, on the bus and in the store.
// It writes them as NATS configuration and as S3 policies; it makes no connections.
//
// A tenant is an account of NATS, with streams of its own, and a prefix in the store: see Tenant.
// Within an account, subjects separate the roles. What subjects can't express is not separated: a
// role that may read events reads those of every pipeline of the account.
//
// Read Role first, then Bus and Policy.
package access
