/** What `shopwire-admin config --reference --json` says about a setting. */
export interface Setting {
  readonly name: string
  readonly default: string
  readonly meaning: string
  readonly secret: boolean
  readonly accepts: Readonly<Record<string, unknown>>
}

type Schema = Readonly<Record<string, unknown>>

/** The chart sets these itself, or the image does; another value would not fit its ports and volumes. */
const SET_BY_THE_CHART = new Set([
  'SHOPWIRE_HOST',
  'SHOPWIRE_PORT',
  'SHOPWIRE_HEALTH_HOST',
  'SHOPWIRE_HEALTH_PORT',
  'SHOPWIRE_DASHBOARD_HOST',
  'SHOPWIRE_DASHBOARD_PORT',
  'SHOPWIRE_DOCS_FOLDER',
  'SHOPWIRE_WEB_FOLDER',
  'SHOPWIRE_JOURNAL',
])
const REQUIRED_SECRETS = ['SHOPWIRE_DATABASE_URL', 'SHOPWIRE_ENCRYPTION_KEYS']

const text = { type: 'string' }
const flag = { type: 'boolean' }
const anyMap = { type: 'object' }
const anyMaps = { type: 'array', items: anyMap }
const texts = { type: 'array', items: text }
const textMap = { type: 'object', additionalProperties: text }
const count = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum })
const userId = { type: ['integer', 'null'], minimum: 1 }
/** A network peer list that is empty would allow everybody. */
const peers = { ...anyMaps, minItems: 1 }
const portAndPeers = only({ port: count(1, 65_535), to: peers })
const placement = { podAnnotations: textMap, nodeSelector: textMap, tolerations: anyMaps }
const scaled = { enabled: flag, minReplicas: count(1, 1_000), maxReplicas: count(1, 1_000) }
const host = only({ host: text, tlsSecret: text })

/** values.schema.json: the settings of the service, and the chart's own values. Helm reads draft 7. */
export function valuesSchemaText(settings: readonly Setting[]): string {
  const secret = only({ secret: { ...text, minLength: 1 }, key: { ...text, minLength: 1 } }, [
    'secret',
    'key',
  ])
  const plain = settings.filter((setting) => !setting.secret && !SET_BY_THE_CHART.has(setting.name))
  const accepted = only(Object.fromEntries(plain.map((setting) => [setting.name, describe(setting)])))
  const secrets = only(
    Object.fromEntries(
      settings
        .filter((setting) => setting.secret)
        .map(({ name, meaning }) => [name, { ...secret, description: meaning }]),
    ),
    REQUIRED_SECRETS,
  )
  const login = only({ SHOPWIRE_DATABASE_URL: secret })
  const program = { settings: { $ref: '#/definitions/settings' }, resources: anyMap }
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $comment:
      'Made by "npm run generate" from service/src/config/config.ts and tools/chart/values-schema.ts; do not edit.',
    title: 'Values of the chart shopwire',
    definitions: { settings: accepted },
    ...only({
      image: only({
        repository: { ...text, minLength: 1 },
        tag: text,
        digest: { ...text, pattern: '^(sha256:[0-9a-f]{64})?$' },
        pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
        pullSecrets: texts,
      }),
      settings: { $ref: '#/definitions/settings' },
      secrets,
      trustedAuthorities: only({ configMap: text, key: text }),
      api: only({
        ...program,
        ...placement,
        replicas: count(1, 1_000),
        autoscaling: only({ ...scaled, cpuPercent: count(1, 100) }),
      }),
      worker: only({
        ...program,
        secrets: login,
        ...placement,
        replicas: count(1, 1_000),
        autoscaling: only({
          ...scaled,
          by: { enum: ['external', 'keda'] },
          secondsPerQueue: only({ fulfil: count(1, 86_400), deliver: count(1, 86_400) }),
          prometheusUrl: { ...text, pattern: '^https?://' },
        }),
      }),
      dashboard: only({ ...program, ...placement, enabled: flag, replicas: count(1, 1_000) }),
      migrate: only({ enabled: flag, resources: anyMap }),
      admin: only({ ...program, secrets: login, enabled: flag }),
      verify: only({ ...program, secrets: login, enabled: flag, schedule: { ...text, minLength: 9 } }),
      journal: only({
        enabled: flag,
        existingClaim: text,
        accessMode: { enum: ['ReadWriteMany', 'ReadWriteOnce'] },
        storageClass: text,
        size: text,
      }),
      runAs: only({ user: userId, group: userId, fsGroup: userId }),
      priorityClassName: text,
      service: only({ annotations: textMap }),
      ingress: only({ enabled: flag, className: text, annotations: textMap, api: host, dashboard: host }),
      disruptionBudget: only({ enabled: flag }),
      networkPolicy: only({
        enabled: flag,
        ingressFrom: peers,
        metricsFrom: peers,
        dns: peers,
        database: portAndPeers,
        redis: portAndPeers,
        alsoPrivate: { type: 'array', items: { ...text, pattern: '^\\d+\\.\\d+\\.\\d+\\.\\d+/\\d+$' } },
        extraEgress: only({ api: anyMaps, worker: anyMaps, dashboard: anyMaps, admin: anyMaps }),
      }),
      monitoring: only({ enabled: flag, interval: text, labels: textMap }),
      // Helm adds it where the chart is part of another one.
      global: anyMap,
    }),
  }
  return `${JSON.stringify(schema, undefined, 2)}\n`
}

function describe({ meaning, accepts }: Setting): Schema {
  const { enum: choices } = accepts as { enum?: readonly string[] }
  // In a values file true is not a text.
  if (choices?.includes('true')) return { description: meaning, enum: [...choices, true, false] }
  return { description: meaning, ...accepts }
}

function only(properties: Readonly<Record<string, Schema>>, required?: readonly string[]): Schema {
  return { type: 'object', additionalProperties: false, properties, ...(required && { required }) }
}
