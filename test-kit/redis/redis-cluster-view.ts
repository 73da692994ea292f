import { CLUSTER_PROBE_MS_MAX, CLUSTER_SLOTS } from '../servers/limits.ts'
import { type RedisDoor, sendCommand } from './command.ts'

/** One node's view of the cluster. */
export interface ClusterView {
  port: number
  isOk: boolean
  /** How many nodes it is connected to, itself included. */
  known: number
  /** The port of the master of each slot. */
  ownerOf: (number | undefined)[]
  /** For a replica: whether it is connected to its master. Always true for a master. */
  isInStep: boolean
}

/** Undefined when the node is dead or frozen. */
export async function viewFrom(door: RedisDoor): Promise<ClusterView | undefined> {
  const ask = async (...args: string[]) => String(await sendCommand(door, args, CLUSTER_PROBE_MS_MAX))
  try {
    const [info, nodes, replication] = await Promise.all([
      ask('CLUSTER', 'INFO'),
      ask('CLUSTER', 'NODES'),
      ask('INFO', 'replication'),
    ])
    return {
      port: door.port,
      isOk: info.includes('cluster_state:ok'),
      ...readNodes(nodes),
      isInStep: replication.includes('role:master') || replication.includes('master_link_status:up'),
    }
  } catch {
    return undefined
  }
}

/**
 * Empty when the cluster is healthy. A dead master is detected only after a timeout, so `cluster_state:ok` is not
 * enough: the masters in each view must be among the nodes that answered.
 */
export function troubleIn(views: ClusterView[], running: number): string {
  const [first, ...others] = views
  if (!first) return 'no node answers'
  if (views.length < running) return `${running - views.length} running node(s) do not answer`
  const unwell = views.find((view) => !view.isOk)
  if (unwell) return `node ${unwell.port} says that the cluster is down`
  const answering = new Set(views.map((view) => view.port))
  for (let slot = 0; slot < CLUSTER_SLOTS; slot += 1) {
    const owner = first.ownerOf[slot]
    if (owner === undefined) return `slot ${slot} has no master`
    if (!answering.has(owner)) return `slot ${slot} is with node ${owner}, which does not answer`
    if (others.some((view) => view.ownerOf[slot] !== owner)) return `the nodes disagree about slot ${slot}`
  }
  const behind = views.find((view) => !view.isInStep)
  return behind ? `replica ${behind.port} does not follow its master` : ''
}

/** A line of CLUSTER NODES: id, host:port@bus, flags, master, ping, pong, epoch, link, then slots. */
function readNodes(text: string): Pick<ClusterView, 'known' | 'ownerOf'> {
  const ownerOf: (number | undefined)[] = Array.from({ length: CLUSTER_SLOTS })
  let known = 0
  for (const line of text.trim().split('\n')) {
    const [, address = '', flags = '', , , , , , ...ranges] = line.trim().split(' ')
    if (flags.includes('handshake') || flags.includes('noaddr')) continue
    known += 1
    const port = Number(/:(\d+)@/.exec(address)?.[1])
    for (const range of ranges) {
      // A migrating slot is written in brackets; it still belongs to the range of its owner.
      const [from = Number.NaN, to = from] = range.split('-').map(Number)
      for (let slot = from; slot <= to; slot += 1) ownerOf[slot] = port
    }
  }
  return { known, ownerOf }
}
