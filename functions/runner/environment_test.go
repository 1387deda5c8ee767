package runner

import (
	"slices"
	"strings"
	"testing"
)

func TestNeitherModulesNorTheirCompilersGetCredentials(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=s", "MINIO_ROOT_PASSWORD=s", "MC_HOST_stoker=https://a:s@h", "NATS_URL=nats://u:s@h", "NATS_NKEY=/n",
		"NATS_CREDS=/c", "NATS_PASSWORD=s", "NATS_TOKEN=s", "STOKER_CONSOLE_TOKEN=s",
	}
	kept := []string{"PATH=/bin", "LANG=C"}
	if got := allowedEnv(append(slices.Clone(kept), secrets...)); !slices.Equal(got, kept) {
		t.Errorf("a module gets %q", got)
	}
	for _, pair := range goEnvironment(append(slices.Clone(kept), append(secrets, "HF_TOKEN=s", "GOFLAGS=-toolexec=s")...), "/h") {
		if strings.HasSuffix(pair, "=s") || strings.Contains(pair, "NATS") || strings.Contains(pair, "MC_") {
			t.Errorf("a compiler gets %q", pair)
		}
	}
	if got := allowedEnv([]string{"HF_TOKEN=s", "GITHUB_TOKEN=s", "OPENLINEAGE_API_KEY=s", "OTEL_EXPORTER_OTLP_HEADERS=s"}); len(got) > 0 {
		t.Errorf("a module gets %q, which nobody said it may", got)
	}
}
