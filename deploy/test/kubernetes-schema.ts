import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1'
import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { CronJob, Job } from 'kubernetes-models/batch/v1'
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Namespace, PersistentVolumeClaim, Service } from 'kubernetes-models/v1'

interface Checked {
  validate(): void
}

type Fields = Record<string, unknown>

// biome-ignore lint/suspicious/noExplicitAny: what is checked is anything; that is what the validators are for.
const KINDS: readonly (new (data: any) => Checked)[] = [
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  CronJob,
  Job,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PrometheusRule,
  ScaledObject,
  Service,
  ServiceMonitor,
]

/** What is wrong with an object by the OpenAPI schema of its kind: types, missing fields, and fields that do not exist. */
export function schemaProblems(manifest: Readonly<Record<string, unknown>>): string[] {
  const Kind = KINDS.find((one) => one.name === manifest.kind)
  if (Kind === undefined) return [`no schema for the kind ${manifest.kind}`]
  const expected = new Kind({}) as Checked & Fields
  if (expected.apiVersion !== manifest.apiVersion) return [`apiVersion is not ${expected.apiVersion}`]
  const read = new Map<object, Set<string>>()
  // Not by the constructor, which copies, and so reads, everything.
  for (const [key, value] of Object.entries(manifest)) expected[key] = watch(value, read)
  try {
    expected.validate()
  } catch (error) {
    return [(error as Error).message]
  }
  return unreadFields(manifest, String(manifest.kind), read)
}

/** The compiled validators ignore unknown fields, and look at every field that they know: what they did not read does not exist. */
function watch(value: unknown, read: Map<object, Set<string>>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => watch(item, read))
  const names = new Set<string>()
  read.set(value, names)
  const inner = Object.fromEntries(Object.entries(value).map(([key, field]) => [key, watch(field, read)]))
  return new Proxy(inner, {
    get(target, name) {
      if (typeof name === 'string') names.add(name)
      return Reflect.get(target, name)
    },
  })
}

function unreadFields(value: unknown, path: string, read: Map<object, Set<string>>): string[] {
  if (Array.isArray(value)) return value.flatMap((item, n) => unreadFields(item, `${path}[${n}]`, read))
  if (typeof value !== 'object' || value === null) return []
  const names = read.get(value)
  // Nothing was read of maps of any content, such as labels.
  const isFree = names === undefined || names.size === 0
  return Object.entries(value).flatMap(([key, field]) => [
    ...(isFree || names.has(key) ? [] : [`${path}.${key} does not exist`]),
    ...unreadFields(field, `${path}.${key}`, read),
  ])
}
