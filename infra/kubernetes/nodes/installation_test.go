package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	tenant  = "acme"
	release = "stoker"
)

// installation is Stoker on the cluster: NATS, a store and a release of the chart.
type installation struct {
	dir   string            // of seeds
	keys  map[string]string // public ones, by role
	store storeKey          // of pods
}

// install installs NATS, the store and the chart as infra/docs/production.md says.
func install(ctx context.Context, dir string) (*installation, error) {
	i := &installation{dir: dir, keys: map[string]string{}}
	for _, namespace := range []string{"nats", "s3", release} {
		if err := makeNamespace(ctx, namespace); err != nil {
			return nil, err
		}
	}
	if err := i.installBus(ctx); err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	if err := i.installStore(ctx); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if _, err := api.Helm(ctx, "install", release, "../../helm/stoker", "-n", release, "-f", "testdata/values.yaml", "--wait", "--timeout", "3m"); err != nil {
		return nil, err
	}
	if err := api.Ready(ctx, release); err != nil {
		return nil, err
	}
	return i, i.prepare(ctx)
}

// prepare uploads the artifacts of the demo, and applies the pipelines that train on them.
func (i *installation) prepare(ctx context.Context) error {
	for _, artifact := range []string{"examples", "schema", "transform_graph", "transformed_examples"} {
		if _, err := i.output(ctx, "operator", "upload", "../../../local/demo/data/"+artifact, "s3://stoker/"+tenant+"/inputs/"+artifact); err != nil {
			return err
		}
	}
	for _, file := range []string{"pipeline.yaml", "long.yaml", "warm.yaml", "many.yaml", "search.yaml"} {
		if _, err := i.output(ctx, "operator", "apply", "testdata/"+file); err != nil {
			return err
		}
	}
	return nil
}

// makeNamespace makes a namespace that enforces the Pod Security Standard `restricted`.
func makeNamespace(ctx context.Context, name string) error {
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
	_, err := api.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	return err
}

// makeSecret makes a secret.
func makeSecret(ctx context.Context, namespace, name string, content map[string]string) error {
	_, err := api.Kube.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: content}, metav1.CreateOptions{})
	return err
}

var roles = []string{"worker", "dispatcher", "console", "operator", "upstream"}

// installBus makes a key of each role, and starts three NATS servers that know them.
func (i *installation) installBus(ctx context.Context) error {
	for _, role := range roles {
		file := filepath.Join(i.dir, role+".nk")
		public, err := i.command(ctx, "", "access", "key", file).Output()
		if err != nil {
			return fmt.Errorf("key of %s: %w", role, err)
		}
		i.keys[role] = strings.TrimSpace(string(public))
		seed, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := makeSecret(ctx, release, tenant+"-"+role, map[string]string{"seed": string(seed)}); err != nil {
			return err
		}
	}
	accounts, err := i.accounts(ctx)
	if err != nil {
		return err
	}
	if err := makeSecret(ctx, "nats", "nats-accounts", map[string]string{"accounts.conf": accounts}); err != nil {
		return err
	}
	if err := api.Certificate(ctx, "nats", "nats-tls", "nats.nats.svc", "nats-headless.nats.svc", "*.nats-headless", "*.nats-headless.nats.svc"); err != nil {
		return err
	}
	authority, err := os.ReadFile(api.Authority())
	if err != nil {
		return err
	}
	if err := makeSecret(ctx, release, "nats-ca", map[string]string{"ca.crt": string(authority)}); err != nil {
		return err
	}
	return i.apply(ctx, "testdata/nats.yaml", "nats")
}

// accounts returns the configuration of NATS for the tenant, with the key of each role.
func (i *installation) accounts(ctx context.Context) (string, error) {
	args := []string{"access", "nats", "--tenant", tenant, "--pipeline", "penguin,long,warm,many,search,mirrored-single,mirrored-pair,mirrored-standing"}
	for role, key := range i.keys {
		args = append(args, role+"="+key)
	}
	out, err := i.command(ctx, "", args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w\n%s", err, failed.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("stoker %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

func (i *installation) apply(ctx context.Context, file, namespace string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := api.Apply(ctx, text); err != nil {
		return err
	}
	return api.Ready(ctx, namespace)
}

// command is a command of the program on the machine of the API server, as a role. Services have
// the names that they have in pods.
func (i *installation) command(ctx context.Context, role string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "../../../bin/stoker", args...)
	cmd.Env = append(os.Environ(), "HOME="+i.dir, "STOKER_ROOT=s3://stoker/"+tenant,
		"AWS_ENDPOINT_URL_S3=http://"+storeAddress, "AWS_ACCESS_KEY_ID="+administrator.id, "AWS_SECRET_ACCESS_KEY="+administrator.secret,
		"NATS_URL=tls://nats.nats.svc:4222", "NATS_CA="+api.Authority(),
		"NATS_NKEY="+filepath.Join(i.dir, role+".nk"), "NATS_INBOX_PREFIX=_INBOX."+role)
	if role == "upstream" {
		cmd.Env = append(cmd.Env, "NATS_JETSTREAM_DOMAIN="+tenant)
	}
	return cmd
}

// unavailable is the exit status of a command when the bus or the store can't be reached.
const unavailable = 4

// stoker runs a command of the program as a role, and returns its output. See output.
func (i *installation) stoker(t *testing.T, role string, args ...string) string {
	t.Helper()
	out, err := i.output(t.Context(), role, args...)
	must(t, err)
	return out
}

// output runs a command of the program as a role, and returns its output. It repeats the command
// for two minutes while the bus can't be reached, as its servers may be restarting.
func (i *installation) output(ctx context.Context, role string, args ...string) (string, error) {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		out, err := i.command(ctx, role, args...).CombinedOutput()
		failed, exited := errors.AsType[*exec.ExitError](err)
		if exited && failed.ExitCode() == unavailable && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("stoker %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return string(out), err
	}
}
