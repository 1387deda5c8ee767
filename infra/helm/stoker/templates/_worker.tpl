{{- /* A Job whose pods are the hosts of one group, each with an index and a name of its own. */ -}}
{{- define "stoker.together" -}}
completionMode: Indexed
completions: {{ .count }}
parallelism: {{ .count }}
{{- end }}

{{- /* The hosts of a group, by the names that an Indexed Job gives its pods. The kubelet fills in the name of the Job. */ -}}
{{- define "stoker.hosts" -}}
{{- $w := . }}
{{- $all := list }}
{{- range $rank := until (int $w.hosts.count) }}
{{- $all = append $all (printf "$(STOKER_JOB)-%d.%s:%v" $rank $w.subdomain $w.hosts.port) }}
{{- end }}
{{- join "," $all }}
{{- end }}

{{- /* The pod of a worker. Arguments: root, class, c (its values), function, hosts, several, labels,
subdomain (of a group), standing (it handles one job after another). */ -}}
{{- define "stoker.worker" -}}
{{- $root := .root }}
{{- $c := .c }}
{{- $stays := or .standing (and .several .hosts.standing) }}
metadata:
  labels: {{- merge (include "stoker.labels" (list $root "worker") | fromYaml) .labels | toYaml | nindent 4 }}
spec:
  restartPolicy: {{ ternary "Always" (ternary "OnFailure" "Never" $stays) .standing }}
  {{- if .several }}
  subdomain: {{ .subdomain }}
  {{- end }}
  {{- include "stoker.pod" (list $root "worker") | nindent 2 }}
  terminationGracePeriodSeconds: {{ add $c.graceSeconds 5 }}
  {{- with $c.runtimeClass }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with $c.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $tolerations := $c.tolerations }}
  {{- if $c.gpus }}
  {{- $tolerations = append $tolerations (dict "key" "nvidia.com/gpu" "operator" "Exists" "effect" "NoSchedule") }}
  {{- end }}
  {{- with $tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: worker
      image: {{ include "stoker.image" (list $root $c.variant) }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        - worker
        {{- if not $stays }}
        - --once
        - --wait
        - {{ $root.Values.scaling.waitSeconds }}s
        {{- end }}
        - --functions
        - {{ .function }}
        - --classes
        - {{ .class }}
        - --grace
        - {{ $c.graceSeconds }}s
        {{- if .standing }}
        - --python-idle
        - 24h
        {{- end }}
        {{- if .several }}
        - --hosts
        - {{ include "stoker.hosts" . }}
        {{- end }}
      env:
        {{- include "stoker.env" (list $root "worker") | nindent 8 }}
        # Results name it.
        - {name: STOKER_IMAGE, value: {{ include "stoker.image" (list $root $c.variant) | quote }}}
        # Modules run as the worker's user, which can read mounted files.
        - {name: STOKER_MODULE_HIDE, value: /etc/stoker}
        {{- if .several }}
        - name: STOKER_JOB
          valueFrom: {fieldRef: {fieldPath: "metadata.labels['batch.kubernetes.io/job-name']"}}
        {{- end }}
        {{- with $c.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: health, containerPort: 9090}
        {{- if .several }}
        - {name: tensorflow, containerPort: {{ .hosts.port }}}
        {{- end }}
      {{- if .standing }}
      {{- include "stoker.probes" $root | nindent 6 }}
      {{- else }}
      livenessProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 10, failureThreshold: 3, initialDelaySeconds: 10}
      {{- end }}
      {{- $resources := deepCopy $c.resources }}
      {{- if $c.gpus }}
      {{- $resources = mergeOverwrite $resources (dict "limits" (dict "nvidia.com/gpu" (toString $c.gpus))) }}
      {{- end }}
      resources: {{- toYaml $resources | nindent 8 }}
      {{- include "stoker.security" $root | nindent 6 }}
      volumeMounts: {{- include "stoker.mounts" (list $root "worker") | nindent 8 }}
  volumes: {{- include "stoker.volumes" (list $root "worker" $c.scratch) | nindent 4 }}
{{- end }}
