{{/*
What the pods of all programs share. Each takes a dict of "root" (the chart's context), "role" and "values" (those of the role).
*/}}

{{/* Which secret settings a program reads, as a comma-separated text. No program gets more than it needs. */}}
{{- define "shopwire.secretNames" -}}
{{- if eq .role "migrate" -}}
SHOPWIRE_DATABASE_OWNER_URL
{{- else if has .role (list "api" "verify" "admin") -}}
SHOPWIRE_DATABASE_URL,SHOPWIRE_ENCRYPTION_KEYS,SHOPWIRE_REDIS_URLS,SHOPWIRE_REDIS_SENTINELS,SHOPWIRE_REDIS_CLIENT_KEY,OTEL_EXPORTER_OTLP_HEADERS
{{- else if eq .role "worker" -}}
SHOPWIRE_DATABASE_URL,SHOPWIRE_ENCRYPTION_KEYS,SHOPWIRE_REDIS_URLS,SHOPWIRE_REDIS_SENTINELS,SHOPWIRE_REDIS_CLIENT_KEY,OTEL_EXPORTER_OTLP_HEADERS,SHOPWIRE_EGRESS_PROXY,SHOPWIRE_SMTP_URL,SHOPWIRE_STRIPE_SECRET_KEY
{{- else -}}
SHOPWIRE_DASHBOARD_DATABASE_URL,SHOPWIRE_ENCRYPTION_KEYS,SHOPWIRE_REDIS_URLS,SHOPWIRE_REDIS_SENTINELS,SHOPWIRE_REDIS_CLIENT_KEY,OTEL_EXPORTER_OTLP_HEADERS,SHOPWIRE_EGRESS_PROXY,SHOPWIRE_OIDC_CLIENT_SECRET,SHOPWIRE_STRIPE_SECRET_KEY,SHOPWIRE_STRIPE_WEBHOOK_SECRETS
{{- end -}}
{{- end -}}

{{- define "shopwire.env" -}}
{{- $role := .role -}}
{{- $own := .values.settings | default dict -}}
{{- $secrets := .root.Values.secrets -}}
{{- if ne $role "migrate" -}}
{{- range $name, $value := .root.Values.settings -}}
{{- /* Sign-in by OpenID Connect is the dashboard's, whose client secret no other program has. */ -}}
{{- if and (not (hasKey $own $name)) (or (eq $role "dashboard") (not (hasPrefix "SHOPWIRE_OIDC_" $name))) }}
- name: {{ $name }}
  value: {{ include "shopwire.text" $value | quote }}
{{- end -}}
{{- end -}}
{{- range $name, $value := $own }}
- name: {{ $name }}
  value: {{ include "shopwire.text" $value | quote }}
{{- end -}}
{{- else if hasKey .root.Values.settings "SHOPWIRE_PLAINTEXT_HOSTS" }}
- name: SHOPWIRE_PLAINTEXT_HOSTS
  value: {{ .root.Values.settings.SHOPWIRE_PLAINTEXT_HOSTS | quote }}
{{- end -}}
{{- range $name := splitList "," (include "shopwire.secretNames" .) -}}
{{- if hasKey $secrets $name }}
- name: {{ $name }}_FILE
  value: /etc/shopwire/secrets/{{ $name }}
{{- end -}}
{{- end -}}
{{- if and (has $role (list "worker" "admin")) .root.Values.journal.enabled }}
- name: SHOPWIRE_JOURNAL
  value: /journal
{{- end -}}
{{- if .root.Values.trustedAuthorities.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/shopwire/authorities/ca.crt
{{- end -}}
{{- end -}}

{{/* Numbers of values files are floating-point, and 10000000 would become 1e+07. */}}
{{- define "shopwire.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}{{- int64 . -}}{{- else -}}{{- . -}}{{- end -}}
{{- end -}}

{{- define "shopwire.volumeMounts" -}}
- name: secrets
  mountPath: /etc/shopwire/secrets
  readOnly: true
{{- if and (has .role (list "worker" "admin")) .root.Values.journal.enabled }}
- name: journal
  mountPath: /journal
{{- end }}
{{- if .root.Values.trustedAuthorities.configMap }}
- name: authorities
  mountPath: /etc/shopwire/authorities
  readOnly: true
{{- end }}
{{- end -}}

{{- define "shopwire.volumes" -}}
{{- $secrets := .root.Values.secrets -}}
{{- /* The login of a program that has one of its own. */ -}}
{{- $own := .values.secrets | default dict -}}
- name: secrets
  projected:
    defaultMode: 288 # 0440
    sources:
    {{- range $name := splitList "," (include "shopwire.secretNames" .) }}
    {{- with index $own $name | default (index $secrets $name) }}
      - secret:
          name: {{ .secret }}
          items:
            - key: {{ .key }}
              path: {{ $name }}
    {{- end }}
    {{- end }}
{{- if and (has .role (list "worker" "admin")) .root.Values.journal.enabled }}
- name: journal
  persistentVolumeClaim:
    claimName: {{ .root.Values.journal.existingClaim | default (printf "%s-journal" (include "shopwire.name" .root)) }}
{{- end }}
{{- with .root.Values.trustedAuthorities }}
{{- if .configMap }}
- name: authorities
  configMap:
    name: {{ .configMap }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{/* The "restricted" Pod Security Standard, and no account at the Kubernetes API. */}}
{{- define "shopwire.podSecurity" -}}
automountServiceAccountToken: false
# Otherwise a Service named "shopwire" would set SHOPWIRE_PORT.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  {{- with .root.Values.runAs.user }}
  runAsUser: {{ int64 . }}
  {{- end }}
  {{- with .root.Values.runAs.group }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  {{- with .root.Values.runAs.fsGroup }}
  fsGroup: {{ int64 . }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "shopwire.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "shopwire.placement" -}}
topologySpreadConstraints:
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "shopwire.selectorLabels" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.role }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
Ten seconds more than the program takes at most. No preStop hook: on SIGTERM the program itself reports not ready and takes
connections for SHOPWIRE_SHUTDOWN_DELAY_MS, in which endpoints are removed.
*/}}
{{- define "shopwire.grace" -}}
{{- $ms := .values.settings.SHOPWIRE_SHUTDOWN_MS | default .root.Values.settings.SHOPWIRE_SHUTDOWN_MS | default 30000 -}}
{{- add 10 (div (add 999 (int64 $ms)) 1000) -}}
{{- end -}}

{{/* /livez never asks the database; /readyz does, and answers 503 from the start until the program works. */}}
{{- define "shopwire.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: health }
  periodSeconds: 2
  failureThreshold: 30
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 2
livenessProbe:
  httpGet: { path: /livez, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{/* A Deployment. Further keys: "port" of the program's own name and number, "replicas" (none when scaled automatically), "strategy". */}}
{{- define "shopwire.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "shopwire.name" .root }}-{{ .role }}
  labels:
    {{- include "shopwire.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- with .replicas }}
  replicas: {{ int64 . }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    {{- if eq .strategy "Recreate" }}
    type: Recreate
    {{- else }}
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
    {{- end }}
  selector:
    matchLabels:
      {{- include "shopwire.selectorLabels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  template:
    metadata:
      labels:
        {{- include "shopwire.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      {{- with .values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "shopwire.podSecurity" . | nindent 6 }}
      terminationGracePeriodSeconds: {{ include "shopwire.grace" . }}
      {{- include "shopwire.placement" . | nindent 6 }}
      containers:
        - name: {{ .role }}
          image: {{ include "shopwire.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [{{ .role }}]
          ports:
            {{- if .port }}
            - name: http
              containerPort: {{ .port }}
            {{- end }}
            - name: health
              containerPort: 9090
          env:
            {{- /* The kubelet's probes and Prometheus come from outside the pod. */}}
            - name: SHOPWIRE_HEALTH_HOST
              value: 0.0.0.0
            {{- include "shopwire.env" . | trim | nindent 12 }}
          volumeMounts:
            {{- include "shopwire.volumeMounts" . | nindent 12 }}
          {{- include "shopwire.probes" . | nindent 10 }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            {{- include "shopwire.containerSecurity" . | nindent 12 }}
      volumes:
        {{- include "shopwire.volumes" . | nindent 8 }}
{{- end -}}

{{- define "shopwire.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "shopwire.name" .root }}-{{ .role }}
  labels:
    {{- include "shopwire.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  {{- with .root.Values.service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: ClusterIP
  selector:
    {{- include "shopwire.selectorLabels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  ports:
    - name: http
      port: {{ .port }}
      targetPort: http
      appProtocol: http
{{- end -}}

{{- define "shopwire.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "shopwire.name" .root }}-{{ .role }}
  labels:
    {{- include "shopwire.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  maxUnavailable: 1
  # While the database is away no pod is ready, and nodes can be drained all the same.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "shopwire.selectorLabels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
{{- end -}}
