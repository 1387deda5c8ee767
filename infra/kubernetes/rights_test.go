package kubernetes_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// as returns a client that impersonates a user.
func (s *server) as(t *testing.T, user string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

// forbidden are requests that neither a pod of the chart nor its deployer may make, HERE being
// their namespace and THERE another one.
var forbidden = []string{
	"GET /api/v1/namespaces/HERE/secrets", "GET /api/v1/namespaces/HERE/secrets/acme-worker", "POST /api/v1/namespaces/HERE/secrets",
	"POST /api/v1/namespaces/HERE/pods/stoker-0/exec?command=sh", "POST /api/v1/namespaces/HERE/pods/stoker-0/attach",
	"POST /api/v1/namespaces/HERE/pods/stoker-0/portforward", "POST /api/v1/namespaces/HERE/pods/stoker-0/eviction",
	"POST /api/v1/namespaces/HERE/serviceaccounts/default/token",
	"POST /apis/rbac.authorization.k8s.io/v1/namespaces/HERE/roles", "POST /apis/rbac.authorization.k8s.io/v1/namespaces/HERE/rolebindings",
	"GET /api/v1/namespaces/THERE/pods", "GET /api/v1/namespaces/THERE/configmaps", "POST /apis/apps/v1/namespaces/THERE/deployments",
	"GET /api/v1/pods", "GET /api/v1/nodes", "GET /api/v1/namespaces", "POST /api/v1/namespaces", "DELETE /api/v1/namespaces/HERE",
	"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions", "POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"POST /apis/certificates.k8s.io/v1/certificatesigningrequests",
}

// forPods are more, which a deployer may make.
var forPods = []string{
	"GET /api/v1/namespaces/HERE/configmaps", "GET /api/v1/namespaces/HERE/pods", "POST /api/v1/namespaces/HERE/pods", "GET /api/v1/namespaces/HERE/pods/stoker-0/log",
	"GET /apis/batch/v1/namespaces/HERE/jobs", "POST /apis/batch/v1/namespaces/HERE/jobs", "DELETE /apis/apps/v1/namespaces/HERE/deployments/stoker-console",
	"GET /apis/keda.sh/v1alpha1/namespaces/HERE/scaledjobs", "GET /apis/jobset.x-k8s.io/v1alpha2/namespaces/HERE/jobsets",
}

// wantForbidden makes requests, each of which must be forbidden.
func wantForbidden(t *testing.T, who string, client *kubernetes.Clientset, here, there string, requests []string) {
	t.Helper()
	for _, request := range requests {
		verb, path, _ := strings.Cut(strings.NewReplacer("HERE", here, "THERE", there).Replace(request), " ")
		path, query, _ := strings.Cut(path, "?")
		call := client.RESTClient().Verb(verb).AbsPath(path).Body([]byte("{}"))
		if name, value, ok := strings.Cut(query, "="); ok {
			call = call.Param(name, value)
		}
		if _, err := call.DoRaw(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %s: got %v, want it forbidden", who, request, err)
		}
	}
}

// rules returns what a client may do in a namespace, as the server says.
func rules(t *testing.T, client *kubernetes.Clientset, namespace string) (all []string) {
	t.Helper()
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
	must(t, err)
	if len(review.Status.ResourceRules) == 0 || review.Status.Incomplete {
		t.Fatalf("the server doesn't say what a client may do: %+v", review.Status)
	}
	for _, rule := range review.Status.ResourceRules {
		all = append(all, fmt.Sprint(rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames))
	}
	slices.Sort(all)
	return all
}

// The chart has no roles: each of its service accounts may do what Kubernetes lets any do, such as
// ask who it is.
func TestServiceAccountsMayDoNothing(t *testing.T) {
	t.Parallel()
	here, there := api.namespace(t, nil), api.namespace(t, nil)
	_, err := api.helm(t, "install", "stoker", chart, "-n", here, "--set", "notify.enabled=true,notify.webhookSecret=h", "--set", "lineage.enabled=true,lineage.url=http://x:1",
		"--set", "bridge.buckets.enabled=true", "--set", "bridge.http.enabled=true,bridge.http.tokenSecret=t")
	must(t, err)
	accounts, err := api.Kube.CoreV1().ServiceAccounts(here).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=stoker"})
	must(t, err)
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + here}
	nobody := rules(t, api.as(t, "system:serviceaccount:"+here+":nobody", groups...), here)
	var names []string
	for _, account := range accounts.Items {
		names = append(names, account.Name)
		user := "system:serviceaccount:" + here + ":" + account.Name
		client := api.as(t, user, groups...)
		wantForbidden(t, account.Name, client, here, there, slices.Concat(forbidden, forPods))
		if diff := cmp.Diff(nobody, rules(t, client, here)); diff != "" {
			t.Errorf("%s may more than any service account (-any +%[1]s):\n%s", account.Name, diff)
		}
	}
	if want := []string{"bridge", "console", "dispatcher", "exporter", "notifier", "operator", "upstream", "worker"}; !slices.Equal(names, prefixed("stoker-", want)) {
		t.Errorf("service accounts %v, want those of %v", names, want)
	}
}

func prefixed(prefix string, names []string) (all []string) {
	for _, name := range names {
		all = append(all, prefix+name)
	}
	return all
}

const deployer = "ci@example.com"

// With the rights of deployer.yaml, Helm installs, upgrades, tests, rolls back and uninstalls. It
// uses each of them, and has no others.
func TestADeployerHasTheRightsThatHelmNeeds(t *testing.T) {
	t.Parallel()
	here, there := api.namespace(t, nil), api.namespace(t, nil)
	role := bindDeployer(t, here)
	helm := func(args ...string) (string, error) {
		return api.helm(t, append(args, "-n", here, "--kube-as-user", deployer)...)
	}
	run := func(args ...string) {
		t.Helper()
		_, err := helm(args...)
		must(t, err)
	}
	values := []string{"-f", "../manifests/testdata/hosts.yaml", "--set", "monitoring.enabled=true"}
	run(append([]string{"install", "stoker", chart}, values...)...)
	run(append([]string{"upgrade", "stoker", chart, "--set", "log.level=debug"}, values...)...)
	// Nothing becomes ready without controllers. The reason must be the time, not a missing right.
	if _, err := helm(append([]string{"upgrade", "stoker", chart, "--wait", "--timeout", "2s"}, values...)...); err == nil || !strings.Contains(err.Error(), "context deadline exceeded") || strings.Contains(err.Error(), "forbidden") {
		t.Errorf("--wait: got %v, want that the time is over", err)
	}
	ended := kubelet(t, here, "stoker-doctor", "Succeeded")
	run("test", "stoker", "--logs", "--timeout", "30s")
	must(t, <-ended)
	run("rollback", "stoker", "1")
	run("uninstall", "stoker")
	wantForbidden(t, deployer, api.as(t, deployer), here, there, forbidden)
	if _, err := api.helm(t, "install", "stoker", chart, "-n", there, "--kube-as-user", deployer); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("an install in another namespace: got %v", err)
	}
	used := requested(t, here)
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				of := fmt.Sprintf(" %s/%s", rule.APIGroups[0], resource)
				// Before it watches, Helm lists, unless the server sends all objects at first.
				if !used[verb+of] && !(verb == "list" && used["watch"+of]) {
					t.Errorf("deployer.yaml permits %s%s, which Helm doesn't use", verb, of)
				}
			}
		}
	}
}

// bindDeployer creates the role of deployer.yaml, and waits until the deployer has it.
func bindDeployer(t *testing.T, namespace string) (role rbacv1.Role) {
	t.Helper()
	text, err := os.ReadFile("../helm/deployer.yaml")
	must(t, err)
	objects, err := kube.Decode(text)
	must(t, err)
	if len(objects) != 1 {
		t.Fatalf("deployer.yaml has %d objects", len(objects))
	}
	_, err = api.Create(t.Context(), namespace, objects[0])
	must(t, err)
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &role))
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stoker-deployer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: deployer}},
	}
	_, err = api.Kube.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := api.as(t, deployer)
	must(t, kube.Poll(ctx, func() error {
		_, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		return err
	}))
	return role
}

// requested returns what the deployer requested in a namespace, and was not refused: verb
// group/resource. The server's audit log has every request.
func requested(t *testing.T, namespace string) map[string]bool {
	t.Helper()
	file, err := os.Open(api.Path("audit.log"))
	must(t, err)
	defer file.Close()
	used := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb             string
			ImpersonatedUser struct{ Username string }
			ObjectRef        struct{ Namespace, APIGroup, Resource, Subresource string }
			ResponseStatus   struct{ Code int }
		}
		must(t, json.Unmarshal(lines.Bytes(), &event))
		of := event.ObjectRef
		if event.ImpersonatedUser.Username != deployer || of.Namespace != namespace || event.ResponseStatus.Code == 403 {
			continue
		}
		if of.Subresource != "" {
			of.Resource += "/" + of.Subresource
		}
		used[fmt.Sprintf("%s %s/%s", event.Verb, of.APIGroup, of.Resource)] = true
		// Applied, and not there before.
		if event.Verb == "patch" && event.ResponseStatus.Code == 201 {
			used[fmt.Sprintf("create %s/%s", of.APIGroup, of.Resource)] = true
		}
	}
	must(t, lines.Err())
	return used
}
