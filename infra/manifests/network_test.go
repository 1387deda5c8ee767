package manifests_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// Connections to the bus are encrypted unless the values disable that.
func TestTheBusIsReachedByTLS(t *testing.T) {
	t.Parallel()
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		for _, env := range pod.Spec.Containers[0].Env {
			if env.Name == "NATS_URL" && !strings.HasPrefix(env.Value, "tls://") {
				t.Errorf("%s: %s: %s", name, object, env.Value)
			}
		}
	})
}

// A module can reach the hosts that its worker may reach. Each way out leads to named peers where
// the values name a host in the cluster.
func TestEgressGoesWhereTheValuesSay(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"no values":  {"4222 to nats", "443,9000 to anyone", "53,53 to kube-system"},
		"minimal":    {"4222 to nats", "443,9000 to minio", "53,53 to kube-system"},
		"tenant":     {"4222 to nats", "443,9000 to anyone", "53,53 to kube-system"},
		"everything": {"4222 to anyone", "4317,4318 to anyone", "443 to 10.0.0.0/8", "5000 to marquez", "53,53 to dns", "8443 to anyone"},
	} {
		var got []string
		for _, object := range render(t, name) {
			if object.GetKind() != "NetworkPolicy" {
				continue
			}
			var policy networkingv1.NetworkPolicy
			must(t, yaml.Unmarshal(object.Text, &policy))
			for _, rule := range policy.Spec.Egress {
				got = append(got, way(rule))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func way(rule networkingv1.NetworkPolicyEgressRule) string {
	var ports, peers []string
	for _, port := range rule.Ports {
		ports = append(ports, port.Port.String())
	}
	for _, peer := range rule.To {
		if peer.IPBlock != nil {
			peers = append(peers, peer.IPBlock.CIDR)
			continue
		}
		peers = append(peers, peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	}
	if len(peers) == 0 {
		peers = []string{"anyone"}
	}
	if len(ports) == 0 {
		ports = []string{"every port"}
	}
	return strings.Join(ports, ",") + " to " + strings.Join(peers, ",")
}
