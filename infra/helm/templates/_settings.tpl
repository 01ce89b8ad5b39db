{{- /* The service's settings as variables of its containers. Secret settings refer to secrets of the namespace. */}}

{{- /* A value as text. Helm's numbers are floating point, so Helm alone writes 1e+07. */}}
{{- define "penstock.text" -}}
{{- if kindIs "float64" . }}{{ if eq . (floor .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* The settings that are not secret, as JSON by name. .Values.settings overrides the chart's own values. */}}
{{- define "penstock.settings" -}}
{{- $found := dict "DATABASE_URL" (include "penstock.pooledUrl" .) "DATABASE_DIRECT_URL" (include "penstock.directUrl" .) }}
{{- if .Values.ingress.enabled }}
{{- $_ := set $found "QUEUE_BASE_URL" (printf "https://%s" .Values.ingress.host) }}
{{- $_ := set $found "QUEUE_TRUST_FORWARDED" "true" }}{{- /* the ingress controller sets X-Forwarded-Proto */}}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- $text := include "penstock.text" $value }}
{{- if $text }}{{ $_ := set $found $name $text }}{{ end }}
{{- end }}
{{- range $name, $_ := .Values.secretSettings }}{{ $_ := unset $found $name }}{{ end }}
{{- toJson $found }}
{{- end }}

{{- /* The value of a setting, or its default: (list . "NAME"). */}}
{{- define "penstock.setting" -}}
{{- $defaults := include "penstock.settingDefaults" (index . 0) | fromJson }}
{{- get (merge (include "penstock.settings" (index . 0) | fromJson) $defaults) (index . 1) }}
{{- end }}

{{- define "penstock.port" -}}
{{ include "penstock.setting" (list . "QUEUE_ADDRESS") | splitList ":" | last }}
{{- end }}

{{- /* Variables: (dict "root" . "set" (dict "NAME" "value") "without" (list "NAME")). Addresses have no password,
because libpq reads PGPASSWORD. */}}
{{- define "penstock.environment" -}}
{{- $settings := merge (dict) (.set | default dict) (include "penstock.settings" .root | fromJson) }}
{{- $without := .without | default list }}
{{- with .root.Values.database }}
{{- include "penstock.secretVariable" (list "PGPASSWORD" .existingSecret .passwordKey) }}
{{- end }}
{{- range $name, $value := $settings }}
{{- if not (has $name $without) }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- range $name, $secret := .root.Values.secretSettings }}
{{- if not (or (has $name $without) (hasKey $settings $name)) }}
{{ include "penstock.secretVariable" (list $name $secret.existingSecret ($secret.key | default $name)) }}
{{- end }}
{{- end }}
{{- end }}
