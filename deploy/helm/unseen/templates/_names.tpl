{{- define "unseen.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{- define "unseen.fullname" -}}
{{- $name := include "unseen.name" . -}}
{{- $release := .Release.Name -}}
{{- $full := ternary $release (printf "%s-%s" $release $name) (contains $name $release) -}}
{{- $full = default $full .Values.fullnameOverride -}}
{{- if regexMatch "^[0-9]" $full -}}
{{- fail (printf "the name of a Service can't begin with a digit, as in %q: set fullnameOverride" $full) -}}
{{- end -}}
{{- /* Names of releases may have dots, and names of Services may not. */ -}}
{{- regexReplaceAll "-+$" ($full | replace "." "-" | trunc 52) "" -}}
{{- end -}}

{{- define "unseen.selector" -}}
app.kubernetes.io/name: {{ include "unseen.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "unseen.labels" -}}
{{ include "unseen.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- /* The job of the ServiceMonitor. The dashboard and the alerts tell releases apart by it. */ -}}
{{- define "unseen.job" -}}
{{- printf "%s/%s" .Release.Namespace (include "unseen.fullname" .) -}}
{{- end -}}

{{- /* The names that clients in the cluster use for the Service, and those of the Ingress. */ -}}
{{- define "unseen.ownHosts" -}}
{{- $name := include "unseen.fullname" . -}}
{{- $service := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := list $name $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service) -}}
{{- concat $hosts .Values.ingress.hosts | join "," -}}
{{- end -}}
