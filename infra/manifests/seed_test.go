package manifests_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// Modules run as the user of their worker and read every file that it reads, where the kernel has
// no Landlock. So no pod has a seed or a private key of the bus as a file: they are in the
// environment, which a worker hides.
func TestNoPodMountsACredentialOfTheBus(t *testing.T) {
	t.Parallel()
	seeds, keys := 0, 0
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret == nil || !strings.HasPrefix(volume.Name, "bus") {
				continue
			}
			for _, item := range volume.Secret.Items {
				if !slices.Contains([]string{"ca.crt", "tls.crt"}, item.Path) {
					t.Errorf("%s: %s: the secret %s is mounted with %s", name, object, volume.Secret.SecretName, item.Key)
				}
			}
			if len(volume.Secret.Items) == 0 {
				t.Errorf("%s: %s: all of the secret %s is mounted", name, object, volume.Secret.SecretName)
			}
		}
		for _, env := range pod.Spec.Containers[0].Env {
			switch env.Name {
			case "NATS_SEED", "NATS_CREDS_TEXT":
				seeds++
			case "NATS_KEY_TEXT":
				keys++
			case "NATS_NKEY", "NATS_CREDS", "NATS_KEY":
				t.Errorf("%s: %s: %s names a file", name, object, env.Name)
			}
		}
	})
	if seeds == 0 || keys == 0 {
		t.Errorf("%d seeds and %d keys were rendered", seeds, keys)
	}
}
