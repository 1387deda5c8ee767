package access_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/storage"
)

// TestEachRoleDoesItsWork shows what the policies allow; this test tries the rest.
func TestTheStoreRefusesWhatIsAnothersBusiness(t *testing.T) {
	t.Parallel()
	tryPolicies(t, startObjects(t, place, "models", "uploads"))
}

// tryPolicies makes each role read, write, list and remove its own and others' objects.
func tryPolicies(t *testing.T, store objects) {
	t.Helper()
	root := store.as(t, rootKey, rootSecret)
	own, other := place.Root.Join("m"), storage.Ref{Bucket: "models", Key: "zeta/m"}
	uploaded, elsewhere := place.Inputs[0].Join("u"), storage.Ref{Bucket: "uploads", Key: "zeta/u"}
	similar := storage.Ref{Bucket: "models", Key: "acme-too/m"} // begins like the tenant's
	all := []storage.Ref{own, other, uploaded, elsewhere, similar}
	for _, ref := range all {
		if err := put(t.Context(), root, ref); err != nil {
			t.Fatal(err)
		}
	}
	for role, may := range map[access.Role]struct{ read, write, remove, list []storage.Ref }{
		access.Upstream:   {read: []storage.Ref{uploaded}, write: []storage.Ref{uploaded}, list: []storage.Ref{uploaded}},
		access.Dispatcher: {},
		access.Worker: {
			read: []storage.Ref{own, uploaded}, write: []storage.Ref{own}, remove: []storage.Ref{own}, list: []storage.Ref{own, uploaded},
		},
		access.Bridge:   {read: []storage.Ref{uploaded}, list: []storage.Ref{uploaded}},
		access.Console:  {read: []storage.Ref{own}, list: []storage.Ref{own}},
		access.Notifier: {},
		access.Exporter: {read: []storage.Ref{own}, list: []storage.Ref{own}},
		access.Operator: {read: []storage.Ref{own, uploaded}, write: []storage.Ref{own, uploaded}, remove: []storage.Ref{own}, list: []storage.Ref{own, uploaded}},
	} {
		client := store.as(t, string(role), secretOf(string(role)))
		for _, ref := range all {
			_, err := client.Stat(t.Context(), ref)
			wantAllowed(t, role, "read", ref, may.read, err)
			wantAllowed(t, role, "write", ref, may.write, put(t.Context(), client, ref))
			wantAllowed(t, role, "list", ref, may.list, list(t, client, storage.Ref{Bucket: ref.Bucket, Key: ref.Key[:strings.Index(ref.Key, "/")]}))
			wantAllowed(t, role, "list the bucket of", ref, nil, list(t, client, storage.Ref{Bucket: ref.Bucket}))
			wantAllowed(t, role, "remove", ref, may.remove, client.Delete(t.Context(), ref))
			if err := put(t.Context(), root, ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := store.as(t, "worker", secretOf("worker")).Stat(t.Context(), place.Root.Join("none")); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a worker gets %v for a missing object, want that it is missing", err)
	}
	if err := list(t, store.as(t, "worker", "wrong-secret"), place.Root); !errors.Is(err, storage.ErrDenied) {
		t.Errorf("with a wrong secret: %v, want a refusal", err)
	}
}

func list(t *testing.T, store storage.Store, folder storage.Ref) error {
	for _, err := range store.List(t.Context(), folder.Folder()) {
		return err
	}
	return nil
}

func wantAllowed(t *testing.T, role access.Role, what string, ref storage.Ref, allowed []storage.Ref, err error) {
	t.Helper()
	may := false
	for _, a := range allowed {
		may = may || a == ref
	}
	if may && err != nil {
		t.Errorf("%s may %s %s, and got %v", role, what, ref, err)
	}
	if !may && !errors.Is(err, storage.ErrDenied) {
		t.Errorf("%s may not %s %s, and got %v", role, what, ref, err)
	}
}

func TestAPolicyThatCouldMeanMoreIsRefused(t *testing.T) {
	t.Parallel()
	root := storage.Ref{Bucket: "models", Key: "acme"}
	for name, made := range map[string]struct {
		role access.Role
		at   access.Place
		want string
	}{
		"a pattern as root":      {access.Worker, access.Place{Root: storage.Ref{Bucket: "models", Key: "a*"}}, "special meaning in policies"},
		"a variable":             {access.Worker, access.Place{Root: storage.Ref{Bucket: "models", Key: "${aws:username}"}}, "special meaning in policies"},
		"a root that leads away": {access.Worker, access.Place{Root: storage.Ref{Bucket: "models", Key: "acme/../zeta"}}, ".."},
		"no place for inputs":    {access.Upstream, access.Place{Root: root}, "at least one address"},
		"a role without access":  {access.Dispatcher, access.Place{Root: root}, "does not use the store"},
	} {
		if _, err := made.role.Policy(made.at); err == nil || !strings.Contains(err.Error(), made.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, made.want)
		}
	}
}

func TestABucketsPolicySaysNothingOfOthers(t *testing.T) {
	t.Parallel()
	policies := map[string]access.Policy{}
	for _, role := range []access.Role{access.Worker, access.Console} {
		policy, err := role.Policy(place)
		if err != nil {
			t.Fatal(err)
		}
		policies[string(role)] = policy
	}
	text, err := json.Marshal(access.BucketPolicy("uploads", policies))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "models") || strings.Contains(string(text), "console") || !strings.Contains(string(text), `"AWS":["worker"]`) {
		t.Errorf("got %s", text)
	}
	if none := access.BucketPolicy("upload", policies); len(none.Statement) > 0 {
		t.Errorf("of a bucket whose name another begins with: %+v", none)
	}
}

// How a role is said to use the store is what its policy permits.
func TestThePolicyOfARolePermitsItsUseOfTheStore(t *testing.T) {
	t.Parallel()
	root, inputs := storage.Ref{Bucket: "models"}, storage.Ref{Bucket: "uploads"}
	for _, role := range access.Roles() {
		use := access.UsesNothing
		policy, err := role.Policy(access.Place{Root: root, Inputs: []storage.Ref{inputs}})
		if err == nil {
			use = access.UsesInputs
		}
		for _, s := range policy.Statement {
			if !strings.Contains(strings.Join(s.Resource, " "), root.Bucket+"/") {
				continue
			}
			if slices.Contains(s.Action, "s3:GetObject") {
				use = max(use, access.ReadsArtifacts)
			}
			if slices.Contains(s.Action, "s3:PutObject") {
				use = max(use, access.WritesArtifacts)
			}
		}
		if role.StoreUse() != use {
			t.Errorf("role %s: use %d, its policy permits %d", role, role.StoreUse(), use)
		}
	}
}
