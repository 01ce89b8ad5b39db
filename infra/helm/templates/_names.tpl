{{- define "penstock.name" -}}
{{- /* The name of the objects. With the longest suffix, "-pgbouncer", it has at most 63 characters, as in DNS. */}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) }}
{{- $name | trunc 53 | trimSuffix "-" }}
{{- end }}

{{- /* The labels for selectors, which never change: (list . "component"). */}}
{{- define "penstock.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- /* An image by its digest, or by its tag: (list . values). */}}
{{- define "penstock.image" -}}
{{- $image := index . 1 -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}{{ end }}
{{- end }}
