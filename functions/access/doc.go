// Package access says who may do what: the permissions on the bus and in the store of each role that people and programs have in a
// deployment. Words for servers come of it, NATS's configuration and S3's policies; it connects to nothing.
//
// A tenant is an account of NATS's, with streams of its own, and a prefix in the store: see Tenant. Within an account the roles are
// kept apart by subjects. What a subject can't say is not kept apart: who may read facts, reads those of every pipeline of the account.
//
// Read Role first, then Bus and Policy.
package access
