package access

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/storage"
)

// Place is where a deployment, or one tenant of it, keeps its objects.
type Place struct {
	Root storage.Ref // where artifacts are: a bucket, or a prefix in one
	// Where upstream puts the objects that its events name, unless that is below Root.
	Inputs []storage.Ref

	// ListAll lets roles list whole buckets instead of their own prefixes. Amazon S3 needs it:
	// without permission to list the bucket it answers 403 for a missing object, instead of
	// 404. Tenants then need buckets of their own.
	ListAll bool
}

// Policy is a policy in the language of AWS (IAM user guide, "Policies and permissions"), which
// MinIO and versitygw understand too.
type Policy struct {
	Version   string
	Statement []Statement
}

// Statement allows something. There are no denials: what no statement allows is refused.
type Statement struct {
	Sid       string
	Effect    string
	Principal *Principal `json:",omitempty"` // in a bucket's policy
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"`
}

// Principal names whom a statement of a bucket's policy applies to: ARNs on AWS, access keys on
// versitygw.
type Principal struct{ AWS []string }

const (
	policyVersion = "2012-10-17" // version of the policy language
	arn           = "arn:aws:s3:::"
)

// The actions of storage/s3: an object's metadata is read with the permission to read it, and a
// large one is written in parts.
var (
	reading = []string{"s3:GetObject"}
	writing = []string{"s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"}
	keeping = []string{"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"}
)

// Policy returns what a role may do in the store, as a policy of the user or the service account
// that has the role. Roles without access to the store have none.
func (r Role) Policy(at Place) (Policy, error) {
	if err := at.check(r); err != nil {
		return Policy{}, err
	}
	p := Policy{Version: policyVersion}
	root := []storage.Ref{at.Root}
	switch r {
	case Upstream:
		p.allow("Inputs", writing, at.Inputs, at.ListAll)
	case Worker:
		p.allow("Inputs", reading, at.Inputs, at.ListAll)
		p.allow("Artifacts", keeping, root, at.ListAll)
	case Bridge: // it reads the markers
		p.allow("Inputs", reading, at.Inputs, at.ListAll)
	case Console, Exporter:
		p.allow("Artifacts", reading, root, at.ListAll)
	case Operator:
		p.allow("Inputs", writing, at.Inputs, at.ListAll)
		p.allow("Artifacts", keeping, root, at.ListAll)
	default:
		return Policy{}, fmt.Errorf("role %s: it does not use the store, and needs no policy", r)
	}
	return p, nil
}

// StoreUse is how a role uses the store.
type StoreUse int

// The uses of the store, as Policy permits them.
const (
	UsesNothing StoreUse = iota
	UsesInputs           // reads or writes what events name, whose addresses only events have
	ReadsArtifacts
	WritesArtifacts
)

// StoreUse returns how the role uses the store.
func (r Role) StoreUse() StoreUse {
	switch r {
	case Upstream, Bridge:
		return UsesInputs
	case Console, Exporter:
		return ReadsArtifacts
	case Worker, Operator:
		return WritesArtifacts
	default:
		return UsesNothing
	}
}

func (at Place) check(r Role) error {
	for _, ref := range append([]storage.Ref{at.Root}, at.Inputs...) {
		if err := ref.Validate(); err != nil {
			return fmt.Errorf("role %s: %w", r, err)
		}
		if wild(ref) {
			return fmt.Errorf("role %s: %s: the characters * , ? and $ have a special meaning in policies: choose another prefix", r, ref)
		}
	}
	if (r == Upstream || r == Bridge) && len(at.Inputs) == 0 {
		return fmt.Errorf("role %s: expected at least one address for its inputs", r)
	}
	return nil
}

func wild(ref storage.Ref) bool {
	for _, b := range []byte(ref.Key) {
		if b == '*' || b == '?' || b == '$' {
			return true
		}
	}
	return false
}

// allow permits actions below places, and listing these.
func (p *Policy) allow(what string, actions []string, places []storage.Ref, listAll bool) {
	if len(places) == 0 {
		return
	}
	objects := Statement{Sid: what, Effect: "Allow", Action: actions}
	for _, place := range places {
		objects.Resource = append(objects.Resource, arn+place.Bucket+"/"+place.Folder().Key+"*")
	}
	p.Statement = append(p.Statement, objects)
	for i, place := range places {
		p.Statement = append(p.Statement, listing(fmt.Sprintf("List%s%d", what, i), place, listAll))
	}
}

// listing permits listing a place, and nothing outside it.
func listing(sid string, place storage.Ref, all bool) Statement {
	s := Statement{Sid: sid, Effect: "Allow", Action: []string{"s3:ListBucket"}, Resource: []string{arn + place.Bucket}}
	if place.Key != "" && !all {
		s.Condition = map[string]map[string][]string{"StringLike": {"s3:prefix": {place.Folder().Key + "*"}}}
	}
	return s
}

// BucketPolicy returns the policy of one bucket, for stores that keep policies with buckets and not
// with users. It is made from the policies of all roles, by principal, without their statements
// about other buckets.
func BucketPolicy(bucket string, of map[string]Policy) Policy {
	all := Policy{Version: policyVersion}
	for i, principal := range slices.Sorted(maps.Keys(of)) {
		for _, statement := range of[principal].Statement {
			statement.Resource = within(bucket, statement.Resource)
			if len(statement.Resource) == 0 {
				continue
			}
			statement.Sid = fmt.Sprintf("%s%d", statement.Sid, i)
			statement.Principal = &Principal{AWS: []string{principal}}
			all.Statement = append(all.Statement, statement)
		}
	}
	return all
}

// within returns the resources that are a bucket, or in it.
func within(bucket string, resources []string) (found []string) {
	for _, resource := range resources {
		if resource == arn+bucket || len(resource) > len(arn+bucket) && resource[:len(arn+bucket)+1] == arn+bucket+"/" {
			found = append(found, resource)
		}
	}
	return found
}
