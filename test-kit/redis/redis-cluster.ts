import { CLUSTER_FORM_MS_MAX, CLUSTER_NODE_TIMEOUT_MS, CLUSTER_SLOTS } from '../servers/limits.ts'
import { freeClusterPort, HOST } from '../servers/network/ports.ts'
import { until } from '../servers/until.ts'
import type { RedisReply } from './command.ts'
import { type Redis, type RedisTls, startRedisOn } from './redis.ts'
import { type ClusterView, troubleIn, viewFrom } from './redis-cluster-view.ts'

export interface RedisClusterOptions {
  /** Three by default, the fewest that keep a majority when one is dead. */
  masters?: number
  replicasPerMaster?: 0 | 1
  /** As in redis.conf, for every node; a `requirepass` also goes into the URLs. */
  settings?: Record<string, string>
  tls?: RedisTls
}

export interface RedisClusterNode {
  port: number
  url: string
  pid(): number | undefined
  kill9(): Promise<void>
  /** Restarts a killed node; it rejoins the cluster by itself. */
  start(): Promise<void>
  pause(): void
  resume(): void
  command(...args: string[]): Promise<RedisReply>
}

export interface RedisCluster {
  /** Masters first, then their replicas in the same order; failover changes roles, never this order. */
  nodes: RedisClusterNode[]
  urls: string[]
  stop(): Promise<void>
  /** The node that serves a slot, according to most nodes that answer. */
  masterOf(slot: number): Promise<RedisClusterNode>
  /** Waits until all running nodes agree that every slot has a running master, and replicas are in sync. */
  waitUntilHealthy(msMax: number): Promise<void>
}

export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicasPerMaster = 0 } = options
  const count = masters * (1 + replicasPerMaster)
  const started = await Promise.allSettled(
    Array.from({ length: count }, () =>
      startRedisOn(
        { settings: { ...NODE_SETTINGS, ...options.settings }, ...(options.tls && { tls: options.tls }) },
        freeClusterPort,
      ),
    ),
  )
  const nodes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const cluster = describe(nodes)
  try {
    for (const each of started) if (each.status === 'rejected') throw each.reason
    await form(nodes, masters)
    await cluster.waitUntilHealthy(CLUSTER_FORM_MS_MAX)
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

const NODE_SETTINGS = {
  'cluster-enabled': 'yes',
  'cluster-node-timeout': String(CLUSTER_NODE_TIMEOUT_MS),
  // By default the first replication waits five seconds for other replicas that could share it.
  'repl-diskless-sync-delay': '0',
}

function describe(nodes: Redis[]): RedisCluster {
  const views = async (): Promise<ClusterView[]> => {
    const asked = await Promise.all(nodes.map(viewFrom))
    return asked.filter((view) => view !== undefined)
  }
  const faces: RedisClusterNode[] = nodes.map((node) => ({ ...node, start: () => node.start() }))
  return {
    nodes: faces,
    urls: nodes.map((node) => node.url),
    // The data is temporary, so a graceful shutdown is not needed.
    async stop() {
      await Promise.all(nodes.map((node) => node.kill9()))
      await Promise.all(nodes.map((node) => node.stop()))
    },
    async masterOf(slot) {
      const port = mostNamed((await views()).map((view) => view.ownerOf[slot]))
      const found = faces.find((node) => node.port === port)
      if (!found) throw new Error(`no node of the cluster serves slot ${slot}`)
      return found
    },
    async waitUntilHealthy(msMax) {
      const running = () => nodes.filter((node) => node.pid() !== undefined).length
      let trouble = 'no node runs'
      const isHealthy = async () => {
        const seen = await views()
        trouble = troubleIn(seen, running())
        return trouble === ''
      }
      await until(isHealthy, msMax, () => `the Redis Cluster is not healthy: ${trouble}`)
    },
  }
}

function mostNamed(ports: (number | undefined)[]): number | undefined {
  const votes = Map.groupBy(ports, (port) => port)
  return [...votes].sort(([, a], [, b]) => b.length - a.length)[0]?.[0]
}

/** Not done with redis-cli, which polls once a second and exits before replicas are in sync. */
async function form(nodes: Redis[], masters: number): Promise<void> {
  await Promise.all(
    nodes.map((node, index) => node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))),
  )
  await Promise.all(
    nodes
      .slice(0, masters)
      .map((node, index) => node.command('CLUSTER', 'ADDSLOTS', ...shareOf(index, masters))),
  )
  const [first, ...others] = nodes
  for (const other of others) await first?.command('CLUSTER', 'MEET', HOST, String(other.port))
  const knowEachOther = async () => {
    const views = await Promise.all(nodes.map(viewFrom))
    return views.every((view) => view?.known === nodes.length)
  }
  await until(
    knowEachOther,
    CLUSTER_FORM_MS_MAX,
    () => 'the Redis Cluster nodes did not connect to each other',
  )
  await Promise.all(
    nodes.slice(masters).map(async (replica, index) => {
      const id = await nodes[index % masters]?.command('CLUSTER', 'MYID')
      await replica.command('CLUSTER', 'REPLICATE', String(id))
    }),
  )
}

function shareOf(index: number, masters: number): string[] {
  const from = Math.floor((index * CLUSTER_SLOTS) / masters)
  const to = Math.floor(((index + 1) * CLUSTER_SLOTS) / masters)
  return Array.from({ length: to - from }, (_, offset) => String(from + offset))
}
