{{- /* This file has the parts that all pods share. */}}
{{- define "penstock.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.pod.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.pod.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.pod.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.pod.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.pod.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "penstock.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* The labels and annotations of pods: (list . "component"). */}}
{{- define "penstock.podMetadata" -}}
{{- $values := (index . 0).Values.pod -}}
labels:
  {{- include "penstock.labels" . | nindent 2 }}
  {{- with $values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Spreads the pods of a component over nodes and zones if possible: (list . "component"). */}}
{{- define "penstock.spread" -}}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ $key }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "penstock.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}

{{- /* A variable with the value of a secret's key: (list "NAME" "secret" "key"). */}}
{{- define "penstock.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ index . 1 }}, key: {{ index . 2 }}}}
{{- end }}

{{- /* The certificate authorities with which the service and PgBouncer verify the database. */}}
{{- define "penstock.caFile" -}}
{{- if .Values.database.caConfigMap.name }}/etc/penstock/database/{{ .Values.database.caConfigMap.key }}{{ else }}{{ .Values.database.caFile }}{{ end }}
{{- end }}

{{- define "penstock.directUrl" -}}
{{- with .Values.database -}}
postgresql://{{ .user }}@{{ .host }}:{{ .port }}/{{ .name }}?sslmode={{ .sslMode }}
{{- end }}
{{- if hasPrefix "verify-" .Values.database.sslMode }}&sslrootcert={{ include "penstock.caFile" . }}{{ end }}
{{- end }}

{{- define "penstock.pooledUrl" -}}
{{- $role := printf "postgresql://%s@" .Values.database.user -}}
{{- if .Values.pgbouncer.enabled -}}
{{ $role }}{{ include "penstock.name" . }}-pgbouncer:6432/{{ .Values.database.name }}
{{- if .Values.pgbouncer.tls.existingSecret }}?sslmode=verify-full&sslrootcert=/etc/penstock/pooler/ca.crt{{ end }}
{{- else if .Values.pgbouncer.address -}}
{{ $role }}{{ .Values.pgbouncer.address }}/{{ .Values.database.name }}
{{- else -}}
{{ include "penstock.directUrl" . }}
{{- end }}
{{- end }}

{{- /* Files with the certificate authorities of these variables, for containers and for their pods. */}}
{{- define "penstock.databaseMounts" -}}
{{- if .Values.database.caConfigMap.name }}
- {name: database-ca, mountPath: /etc/penstock/database, readOnly: true}
{{- end }}
{{- end }}

{{- define "penstock.databaseVolumes" -}}
{{- with .Values.database.caConfigMap.name }}
- {name: database-ca, configMap: {name: {{ . }}}}
{{- end }}
{{- end }}

{{- define "penstock.mounts" -}}
{{- include "penstock.databaseMounts" . }}
{{- if and .Values.pgbouncer.enabled .Values.pgbouncer.tls.existingSecret }}
- {name: pooler-ca, mountPath: /etc/penstock/pooler, readOnly: true}
{{- end }}
{{- end }}

{{- define "penstock.volumes" -}}
{{- include "penstock.databaseVolumes" . }}
{{- if and .Values.pgbouncer.enabled .Values.pgbouncer.tls.existingSecret }}
- name: pooler-ca
  secret: {secretName: {{ .Values.pgbouncer.tls.existingSecret }}, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- end }}
