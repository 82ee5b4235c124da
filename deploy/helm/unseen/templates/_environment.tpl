{{- /*
The environment of the service, from typed values. test/deploy/manifests.e2e-spec.ts holds that each setting in
docs/settings.md has one place in the values.
*/ -}}
{{- define "unseen.environment" -}}
{{- $redis := .Values.redis -}}
- name: HOST
  value: {{ ternary "::" "0.0.0.0" (eq .Values.ipFamily "IPv6") | quote }}
- name: PORT
  value: "3000"
{{- if .Values.resp.enabled }}
- name: RESP_PORT
  value: "6379"
{{- end }}
- name: STORE
  value: {{ ternary "embedded" "redis" (eq .Values.store "embedded") }}
{{- if eq .Values.store "embedded" }}
# Not the root of the volume, which may have a folder lost+found and is open to the group.
- name: DATA_DIR
  value: /data/unseen
{{- else if eq .Values.store "redis" }}
- name: REDIS_URL
  {{- if $redis.url }}
  value: {{ $redis.url | quote }}
  {{- else }}
  {{- include "unseen.secret" (list $redis.existingSecret $redis.secretKeys.url) | nindent 2 }}
  {{- end }}
{{- else }}
{{- if eq .Values.store "cluster" }}
- name: REDIS_CLUSTER
  value: {{ join "," $redis.cluster | quote }}
{{- else }}
- name: REDIS_SENTINEL
  value: {{ join "," $redis.sentinel.nodes | quote }}
- name: REDIS_SENTINEL_MASTER
  value: {{ $redis.sentinel.master | quote }}
{{- with $redis.sentinel.username }}
- name: REDIS_SENTINEL_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- with $redis.secretKeys.sentinelPassword }}
- name: REDIS_SENTINEL_PASSWORD
  {{- include "unseen.secret" (list $redis.existingSecret .) | nindent 2 }}
{{- end }}
{{- end }}
{{- with $redis.username }}
- name: REDIS_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- with $redis.existingSecret }}
- name: REDIS_PASSWORD
  {{- include "unseen.secret" (list . $redis.secretKeys.password) | nindent 2 }}
{{- end }}
{{- if $redis.tls.enabled }}
- name: REDIS_TLS
  value: "true"
{{- end }}
{{- end }}
{{- if and $redis.tls.enabled $redis.tls.existingSecret }}
{{- range $variable, $key := dict "REDIS_TLS_CA" $redis.tls.caKey "REDIS_TLS_CERT" $redis.tls.certKey "REDIS_TLS_KEY" $redis.tls.keyKey }}
{{- with $key }}
- name: {{ $variable }}
  value: {{ printf "/etc/unseen/redis-tls/%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}
- name: AUTH
  value: {{ .Values.auth.mode }}
{{- if or .Values.auth.allowedHosts (eq .Values.auth.mode "none") }}
{{- $address := ternary "[$(POD_IP)]" "$(POD_IP)" (eq .Values.ipFamily "IPv6") }}
# Probes and Prometheus use the pod's address as Host.
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: ALLOWED_HOSTS
  value: {{ concat (list $address (include "unseen.ownHosts" .)) .Values.auth.allowedHosts | join "," | quote }}
{{- end }}
{{- with .Values.auth.corsOrigins }}
- name: CORS_ORIGINS
  value: {{ join "," . | quote }}
{{- end }}
{{- $oidc := .Values.auth.oidc }}
{{- range $variable, $value := dict "OIDC_ISSUER" $oidc.issuer "OIDC_AUDIENCE" $oidc.audience "OIDC_JWKS_URL" $oidc.jwksUrl "OIDC_SCOPE_CLAIM" $oidc.scopeClaim "OIDC_PREFIX_CLAIM" $oidc.prefixClaim }}
{{- with $value }}
- name: {{ $variable }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.traces.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .Values.traces.existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  {{- include "unseen.secret" (list . $.Values.traces.headersKey) | nindent 2 }}
{{- end }}
- name: SHUTDOWN_GRACE_MS
  value: {{ toJson .Values.shutdown.graceMs | quote }}
{{- with .Values.settings }}
{{- $body := int64 (default 4194304 .MAX_BODY_BYTES) }}
{{- if lt (int64 (default $body .MAX_BYTES_IN_FLIGHT)) $body }}
{{- fail (printf "settings.MAX_BYTES_IN_FLIGHT is less than MAX_BODY_BYTES, which is %d" $body) }}
{{- end }}
{{- end }}
{{- range $variable, $value := .Values.settings }}
- name: {{ $variable }}
  {{- /* toJson, because Helm prints large numbers as 1.7e+10. */}}
  value: {{ toJson $value | trimAll "\"" | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{- $names := list }}
{{- range . }}
{{- if has .name $names }}
{{- fail (printf "extraEnv has a variable twice: %s" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "unseen.secret" -}}
valueFrom:
  secretKeyRef:
    name: {{ index . 0 | quote }}
    key: {{ index . 1 | quote }}
{{- end -}}
