{{- /* The beginning of every name. */ -}}
{{- define "stoker.name" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains $chart .Release.Name }}{{ .Release.Name | trunc 40 | trimAll "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $chart | trunc 40 | trimAll "-" }}
{{- end }}
{{- end }}

{{- /* Fails if services can't have names that begin like this: Helm also takes releases named 7up or a.b. */ -}}
{{- define "stoker.named" -}}
{{- $name := include "stoker.name" . -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $name) -}}
{{- fail (printf "release %s: names would begin with %s, and those of services have only a-z, 0-9 and -, and begin with a letter: rename the release, or set fullnameOverride" .Release.Name $name) -}}
{{- end -}}
{{- end }}

{{- /* Fails if Kubernetes, KEDA or JobSet would refuse a name for its length. Arguments: name (of the
ScaledJob or JobSet, without its hash), class, function, max, hosts, several.

One pod: KEDA sets the ScaledJob's name as the label scaledjob.keda.sh/name. A group that KEDA starts:
its Job is the ScaledJob's name and six characters, and the hostnames of its pods have an index more.
A standing group: JobSet's names of pods. */ -}}
{{- define "stoker.fits" -}}
{{- $last := int (sub (int .hosts.count) 1) -}}
{{- $what := "the label scaledjob.keda.sh/name" -}}
{{- $longest := .name -}}
{{- if and .several .hosts.standing -}}
{{- $what = "the name of a pod of the JobSet" -}}
{{- $longest = printf "%s-xxxxxxxx-group-%d-%d-xxxxx" .name (int (sub (int .max) 1)) $last -}}
{{- else if .several -}}
{{- $what = "the hostname of a pod of the Indexed Job" -}}
{{- $longest = printf "%s-xxxxx-%d" .name $last -}}
{{- end -}}
{{- if gt (len $longest) 63 -}}
{{- fail (printf "classes.%s.functions.%s: %s would be %s: %d characters, and Kubernetes takes 63: shorten the class or the release, or set fullnameOverride" .class .function $what $longest (len $longest)) -}}
{{- end -}}
{{- end }}

{{- /* Labels that select the pods of a component: (list . "worker"). */ -}}
{{- define "stoker.selector" -}}
app.kubernetes.io/name: stoker
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "stoker.labels" -}}
{{ include "stoker.selector" . }}
app.kubernetes.io/part-of: stoker
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version }}
{{- end }}

{{- /* The image of a variant, with its digest if the values have one: (list . "python"). */ -}}
{{- define "stoker.image" -}}
{{- $root := index . 0 -}}
{{- $variant := index . 1 -}}
{{- $image := $root.Values.image -}}
{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ with $variant }}-{{ . }}{{ end }}
{{- with get $image.digests ($variant | default "stoker") }}@{{ . }}{{ end }}
{{- end }}

{{- /* The settings of every pod: (list . "worker"). No service account token, no root, no access to the node. */ -}}
{{- define "stoker.pod" -}}
{{- $root := index . 0 -}}
serviceAccountName: {{ if $root.Values.serviceAccounts.create }}{{ include "stoker.name" $root }}-{{ index . 1 }}{{ else }}default{{ end }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "stoker.security" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* The environment with which a role connects to bus and store: (list . "worker"). */ -}}
{{- define "stoker.env" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $v := $root.Values -}}
- {name: NATS_URL, value: {{ $v.bus.url | quote }}}
{{- /* Not as a file: modules run as the user of their worker, and can read its files if the kernel has no Landlock. */ -}}
{{- with index $v.bus.secrets $role }}
- name: {{ if eq $v.bus.secretKey "creds" }}NATS_CREDS_TEXT{{ else }}NATS_SEED{{ end }}
  valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $v.bus.secretKey }}}}
- {name: NATS_INBOX_PREFIX, value: _INBOX.{{ $role }}}
{{- end }}
{{- /* Publishers have an account of their own, which has the tenant's JetStream as a domain with the tenant's name. */ -}}
{{- $domain := ternary $v.bus.account $v.bus.domain (and (eq $role "upstream") (ne $v.bus.account "$G") (ne (index $v.bus.secrets $role) "")) }}
{{- with $domain }}
- {name: NATS_JETSTREAM_DOMAIN, value: {{ . | quote }}}
{{- end }}
{{- if $v.bus.ca.secret }}
- {name: NATS_CA, value: /etc/stoker/bus-ca/ca.crt}
{{- end }}
{{- if $v.bus.clientCertificate.secret }}
- {name: NATS_CERT, value: /etc/stoker/bus-client/tls.crt}
- name: NATS_KEY_TEXT
  valueFrom: {secretKeyRef: {name: {{ $v.bus.clientCertificate.secret }}, key: tls.key}}
{{- end }}
{{- if has $role (list "worker" "console" "exporter" "bridge") }}
- {name: STOKER_ROOT, value: {{ $v.store.root | quote }}}
{{- with $v.store.endpoint }}
- {name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }}}
{{- end }}
{{- with $v.store.region }}
- {name: AWS_REGION, value: {{ . | quote }}}
{{- end }}
{{- if $v.store.ca.secret }}
- {name: AWS_CA_BUNDLE, value: /etc/stoker/store-ca/ca.crt}
{{- end }}
{{- with index $v.store.secrets $role }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ . }}, key: AWS_ACCESS_KEY_ID}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: AWS_SECRET_ACCESS_KEY}}
{{- end }}
{{- end }}
{{- if and (eq $role "worker") $v.store.inputs }}
- {name: STOKER_INPUTS, value: {{ join "," $v.store.inputs | quote }}}
{{- end }}
{{- if has $role (list "dispatcher" "worker" "console" "notifier" "exporter" "bridge" "upstream") }}
- {name: STOKER_LISTEN, value: ":9090"}
{{- end }}
- {name: STOKER_LOG_FORMAT, value: {{ $v.log.format }}}
- {name: STOKER_LOG_LEVEL, value: {{ $v.log.level }}}
- {name: TMPDIR, value: /tmp}
{{- with $v.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "stoker.mounts" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $v := $root.Values -}}
- {name: tmp, mountPath: /tmp}
{{- if $v.bus.ca.secret }}
- {name: bus-ca, mountPath: /etc/stoker/bus-ca, readOnly: true}
{{- end }}
{{- if $v.bus.clientCertificate.secret }}
- {name: bus-client, mountPath: /etc/stoker/bus-client, readOnly: true}
{{- end }}
{{- if and $v.store.ca.secret (has $role (list "worker" "console" "exporter" "bridge")) }}
- {name: store-ca, mountPath: /etc/stoker/store-ca, readOnly: true}
{{- end }}
{{- end }}

{{- /* The volumes of a role, with space for its temporary files: (list . "worker" "20Gi"). */ -}}
{{- define "stoker.volumes" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $v := $root.Values -}}
- {name: tmp, emptyDir: {sizeLimit: {{ index . 2 }}}}
{{- if $v.bus.ca.secret }}
- {name: bus-ca, secret: {secretName: {{ $v.bus.ca.secret }}, items: [{key: {{ $v.bus.ca.key }}, path: ca.crt}]}}
{{- end }}
{{- if $v.bus.clientCertificate.secret }}
- {name: bus-client, secret: {secretName: {{ $v.bus.clientCertificate.secret }}, items: [{key: tls.crt, path: tls.crt}]}}
{{- end }}
{{- if and $v.store.ca.secret (has $role (list "worker" "console" "exporter" "bridge")) }}
- {name: store-ca, secret: {secretName: {{ $v.store.ca.secret }}, items: [{key: {{ $v.store.ca.key }}, path: ca.crt}]}}
{{- end }}
{{- end }}

{{- define "stoker.probes" -}}
livenessProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 10, failureThreshold: 3}
readinessProbe: {httpGet: {path: /readyz, port: health}, periodSeconds: 5}
startupProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 2, failureThreshold: 30}
{{- end }}
