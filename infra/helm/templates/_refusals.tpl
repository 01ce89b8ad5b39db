{{- /* Combinations of values that values.schema.json cannot refuse with a sentence. */}}
{{- define "penstock.refusals" -}}
{{- $database := required "database.host: the host of PostgreSQL" .Values.database.host }}
{{- $password := required "database.existingSecret: a secret with the database's password" .Values.database.existingSecret }}
{{- if and (eq .Values.access "sigv4") (not .Values.encryptionKey.existingSecret) }}
{{- fail "encryptionKey.existingSecret: access sigv4 needs a secret with QUEUE_ENCRYPTION_KEY, such as $(openssl rand -base64 32)" }}
{{- end }}
{{- if and (ne .Values.access "sigv4") (or .Values.ingress.enabled (ne .Values.service.type "ClusterIP")) }}
{{- fail (printf "access %s verifies nobody's signature: no ingress, and a Service of type ClusterIP" .Values.access) }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host: the name that clients use, which signatures cover" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (ne .Values.access "off") (not .Values.metrics.existingSecret) }}
{{- fail "metrics.existingSecret: /metrics asks for a token, which Prometheus then sends" }}
{{- end }}
{{- if and .Values.keda.consumers (not .Values.keda.credentials.existingSecret) }}
{{- fail "keda.credentials.existingSecret: KEDA needs an access key to ask how many messages there are" }}
{{- end }}
{{- end }}
