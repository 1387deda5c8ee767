package kubernetes_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// choice is a part of the values, with the forms that it may have, each as YAML. The first is the
// default.
type choice struct {
	part  string
	forms []string
}

const (
	digest  = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	limits  = "graceSeconds: 25, resources: {requests: {cpu: 100m, memory: 1Gi}}, scratch: 1Gi"
	peers   = "[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: there}}, podSelector: {}}]"
	placing = "nodeSelector: {pool: small}, tolerations: [{key: pool, operator: Equal, value: small, effect: NoExecute, tolerationSeconds: 60}]"
)

// choices are all that values decide, as far as it changes the kinds or the structure of objects.
var choices = []choice{
	{"names", []string{`{}`, `{nameOverride: trainer}`, `{fullnameOverride: acme}`}},
	{"image", []string{`{}`, `{image: {digests: {stoker: "` + digest + `", python: "` + digest + `"}, pullPolicy: Always, pullSecrets: [{name: registry}]}}`}},
	{"credentials", []string{`{}`,
		`{bus: {secrets: {dispatcher: d, worker: w, console: c, operator: o, notifier: notes, exporter: e, bridge: b, upstream: u}}}`,
		`{bus: {secretKey: creds, account: ACME, secrets: {worker: w, operator: o, upstream: u}, clientCertificate: {secret: tls}}}`}},
	{"ca", []string{`{}`, `{bus: {ca: {secret: ca}}, store: {ca: {secret: ca, key: root.pem}}}`}},
	{"store", []string{`{}`, `{store: {endpoint: "http://minio.minio.svc:9000", region: here, inputs: ["s3://up"], secrets: {worker: s, console: s, exporter: s, bridge: s}}}`}},
	{"environment", []string{`{}`, `{env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: B, value: "1"}], log: {format: text, level: debug}}`}},
	{"accounts", []string{`{}`, `{serviceAccounts: {create: false}}`, `{serviceAccounts: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/x"}}}`}},
	{"streams", []string{`{}`, `{streams: {enabled: false}}`, `{bus: {replicas: 1, domain: hub}}`}},
	{"dispatcher", []string{`{}`, `{dispatcher: {replicas: 1, ` + placing + `}, podDisruptionBudget: {enabled: false}}`}},
	{"console", []string{`{}`, `{console: {enabled: false}}`, `{console: {tokenSecret: t, host: h.example, ` + placing + `}, networkPolicy: {consoleFrom: ` + peers + `}}`}},
	{"notify", []string{`{}`, `{notify: {enabled: true, webhookSecret: hook, format: text, template: "{{.Run}}", kinds: [dead], pipelines: [p], ` + placing + `}}`}},
	{"lineage", []string{`{}`, `{lineage: {enabled: true, url: "http://marquez.there.svc:5000", apiKeySecret: key, pipeline: p, ` + placing + `}}`}},
	{"buckets", []string{`{}`, `{bridge: {buckets: {enabled: true, replicas: 2, marker: _DONE, pipeline: p, allow: ["s3://up/a=p"], ` + placing + `}}}`}},
	{"http", []string{`{}`, `{bridge: {http: {enabled: true, tokenSecret: t}}, networkPolicy: {eventsFrom: ` + peers + `}}`,
		`{bridge: {http: {enabled: true, port: 8443, tlsSecret: tls, clientCA: {secret: ca}, pipelines: [p], ` + placing + `}}}`}},
	{"network", []string{`{}`, `{networkPolicy: {enabled: false}}`,
		`{networkPolicy: {bus: {to: ` + peers + `}, store: {ports: [443], to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}, telemetry: {ports: [4317]}, metricsFrom: ` + peers + `}}`}},
	{"monitoring", []string{`{}`, `{monitoring: {enabled: true, interval: 5m, labels: {release: prometheus}}}`}},
	{"scaling", []string{`{}`, `{scaling: {pollingInterval: 1, waitSeconds: 31, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0, ttlSecondsAfterFinished: 0}}`}},
	{"standing", []string{`{}`, `{classes: {cpu: {functions: {train: {min: 1, max: 2}, tune: {min: 1, max: 1}}}}}`}},
	{"gpus", []string{`{}`, `{classes: {gpu: {variant: cuda, gpus: 2, runtimeClass: nvidia, functions: {trial: {max: 3}}, env: [{name: C, value: c}], ` + placing + `, ` + limits + `}}}`}},
	{"hosts", []string{`{}`, `{classes: {wide: {variant: python, functions: {train: {max: 2}}, hosts: {count: 4}, ` + limits + `}}}`,
		`{classes: {wide: {variant: cuda, gpus: 1, functions: {train: {max: 11}}, hosts: {count: 2, port: 8470, standing: true, labels: {kueue.x-k8s.io/queue-name: q}}, ` + limits + `}}}`}},
}

// together is two forms of two choices.
type together struct{ choice, form, other, otherForm int }

// pairs returns rows of forms, one of each choice, so that any two forms of two choices are
// together in a row. Of some random rows, it takes the one with the most pairs that no row had
// before.
func pairs(of []choice) (rows [][]int) {
	random := rand.New(rand.NewPCG(1, 1))
	missing := map[together]bool{}
	for a := range of {
		for b := a + 1; b < len(of); b++ {
			for formA := range of[a].forms {
				for formB := range of[b].forms {
					missing[together{a, formA, b, formB}] = true
				}
			}
		}
	}
	for len(missing) > 0 {
		var best []int
		most := 0
		for range 100 {
			row := make([]int, len(of))
			for i, c := range of {
				row[i] = random.IntN(len(c.forms))
			}
			if n := len(found(row, missing)); n > most {
				best, most = row, n
			}
		}
		for _, pair := range found(best, missing) {
			delete(missing, pair)
		}
		if best != nil {
			rows = append(rows, best)
		}
	}
	return rows
}

// found returns the pairs of a row that are missing.
func found(row []int, missing map[together]bool) (all []together) {
	for a := range row {
		for b := a + 1; b < len(row); b++ {
			if pair := (together{a, row[a], b, row[b]}); missing[pair] {
				all = append(all, pair)
			}
		}
	}
	return all
}

// Each two forms of values are rendered together, and the server takes all that comes out, and all
// that controllers will make of it.
func TestTheServerTakesEachPairOfValues(t *testing.T) {
	t.Parallel()
	rows := pairs(choices)
	if len(rows) < 9 {
		t.Fatalf("%d rows can't have each pair of forms", len(rows))
	}
	kinds := map[string]bool{}
	for i, row := range rows {
		var args, said []string
		for c, form := range row {
			if form == 0 {
				continue
			}
			said = append(said, fmt.Sprintf("%s %d", choices[c].part, form))
			file := filepath.Join(t.TempDir(), "values.yaml")
			must(t, os.WriteFile(file, []byte(choices[c].forms[form]), 0o600))
			args = append(args, "-f", file)
		}
		name := fmt.Sprintf("row %d: %s", i, strings.Join(said, ", "))
		namespace := api.namespace(t, nil)
		objects, tests, err := api.render(t, chart, "prod", namespace, args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := map[string]*unstructured.Unstructured{}
		for _, object := range objects {
			kinds[object.GetKind()] = true
			made, err := api.Create(t.Context(), namespace, object)
			if err != nil {
				t.Errorf("%s: %s %s: %v", name, object.GetKind(), object.GetName(), err)
				continue
			}
			all[name+": "+object.GetKind()+" "+object.GetName()] = made
		}
		api.wantMade(t, namespace, all)
		api.wantTest(t, namespace, tests)
	}
	want := []string{"Deployment", "Job", "JobSet", "NetworkPolicy", "PodDisruptionBudget", "ScaledJob", "Service", "ServiceAccount", "ServiceMonitor"}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
	t.Logf("%d rows", len(rows))
}
