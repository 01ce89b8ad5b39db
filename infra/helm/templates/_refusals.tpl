{{- /* Refuses combinations of values that values.schema.json cannot refuse with a message. */}}
{{- define "penstock.refusals" -}}
{{- $database := required "database.host: the host of PostgreSQL" .Values.database.host }}
{{- $password := required "database.existingSecret: a secret with the database's password" .Values.database.existingSecret }}
{{- $access := include "penstock.setting" (list . "QUEUE_ACCESS") }}
{{- if and (eq $access "sigv4") (not .Values.secretSettings.QUEUE_ENCRYPTION_KEY) }}
{{- fail "secretSettings.QUEUE_ENCRYPTION_KEY: QUEUE_ACCESS sigv4 needs a secret with QUEUE_ENCRYPTION_KEY, such as $(openssl rand -base64 32)" }}
{{- end }}
{{- if and (ne $access "sigv4") (or .Values.ingress.enabled (ne .Values.service.type "ClusterIP")) }}
{{- fail (printf "QUEUE_ACCESS %s verifies no signature: it needs a Service of type ClusterIP, and no ingress" $access) }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host: the name that clients use, which signatures cover" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (ne $access "off") (not .Values.secretSettings.QUEUE_METRICS_TOKEN) }}
{{- fail "secretSettings.QUEUE_METRICS_TOKEN: /metrics asks for a token, which Prometheus then sends" }}
{{- end }}
{{- if and .Values.keda.consumers (not .Values.keda.credentials.existingSecret) }}
{{- fail "keda.credentials.existingSecret: KEDA needs an access key to ask how many messages there are" }}
{{- end }}
{{- end }}
