import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  /** For all addresses together: every socket costs memory, one with an unfinished request up to a tenth of a megabyte. */
  readonly max: number
  /** 0 means no limit: behind a proxy all callers share its address. */
  readonly perAddressMax: number
  /** `share`: the address with the most sockets lost one, or was refused another, because few were left for all. */
  onClosed(limit: 'all' | 'address' | 'share'): void
}

/**
 * The last part of the sockets is for addresses that do not have the most already. It is larger than what the listening queue
 * holds, so that a burst of connections does not use it up before the sockets that have to make room are closed.
 */
const KEPT_FREE = 1 / 10

/**
 * Limits the sockets of all addresses, so that memory suffices, and of one address, so that it cannot take those of all others. A
 * few addresses together cannot either: when nearly all sockets are taken, an address with fewer gets the place of an idle socket
 * of the address with the most.
 */
export function limitConnections(server: Server, { max, perAddressMax, onClosed }: ConnectionLimits): void {
  server.maxConnections = max
  server.on('drop', () => onClosed('all'))
  if (perAddressMax === 0) return
  const scarceFrom = max - Math.ceil(max * KEPT_FREE)
  const open = createAddressCount()
  server.on('connection', (socket: Socket) => {
    const address = addressBlock(socket.remoteAddress ?? '')
    const count = open.count(address) + 1
    const most = open.most()
    const isScarce = open.total() >= scarceFrom
    const close = (one: Socket, limit: 'address' | 'share') => {
      onClosed(limit)
      open.remove(one)
      one.destroy()
    }
    if (count > perAddressMax) return close(socket, 'address')
    if (isScarce && count > 1 && count > most) return close(socket, 'share')
    const displaced = isScarce && most > 1 ? open.findOfMost(hasNothingToLose) : undefined
    if (displaced) close(displaced, 'share')
    open.add(address, socket)
    socket.once('close', () => open.remove(socket))
  })
}

/** Without a request, or with one whose body is still arriving: no work was done for it, and no answer is lost. */
function hasNothingToLose(socket: Socket): boolean {
  const answer = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage
  return !answer?.req.complete
}

/** Open sockets by address, and the address with the most, in constant time: a flood needs it for every connection. */
function createAddressCount() {
  const byAddress = new Map<string, Set<Socket>>()
  const addressOf = new Map<Socket, string>()
  /** At index n, the addresses with n sockets; no empty set at the end. */
  const byCount: Set<string>[] = [new Set()]

  function recount(address: string, before: number, now: number) {
    byCount[before]?.delete(address)
    if (now > 0) {
      byCount[now] ??= new Set()
      byCount[now].add(address)
    }
    while (byCount.length > 1 && byCount.at(-1)?.size === 0) byCount.pop()
  }

  return {
    total: () => addressOf.size,
    count: (address: string) => byAddress.get(address)?.size ?? 0,
    most: () => byCount.length - 1,
    /** The oldest socket that satisfies the condition, of an address that has the most. */
    findOfMost(isWanted: (socket: Socket) => boolean): Socket | undefined {
      const [address = ''] = byCount.at(-1) ?? []
      for (const socket of byAddress.get(address) ?? []) if (isWanted(socket)) return socket
      return undefined
    },
    add(address: string, socket: Socket) {
      const sockets = byAddress.get(address) ?? new Set()
      byAddress.set(address, sockets.add(socket))
      addressOf.set(socket, address)
      recount(address, sockets.size - 1, sockets.size)
    },
    remove(socket: Socket) {
      const address = addressOf.get(socket)
      const sockets = address === undefined ? undefined : byAddress.get(address)
      if (address === undefined || !sockets?.delete(socket)) return
      addressOf.delete(socket)
      if (sockets.size === 0) byAddress.delete(address)
      recount(address, sockets.size + 1, sockets.size)
    },
  }
}

/**
 * The address of the caller: the socket's, or the one that the nearest trusted proxy reports. Callers can forge the rest of the
 * header.
 */
export function addressReader(trustedProxyHops: number): (request: IncomingMessage) => string {
  return (request) => {
    const peer = request.socket.remoteAddress ?? ''
    if (trustedProxyHops === 0) return addressBlock(peer)
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
    return addressBlock(forwarded.at(-trustedProxyHops)?.trim() || peer)
  }
}

/** The address itself for IPv4, its /64 block for IPv6: one customer of a provider has 2^64 addresses and would never reach a limit. */
export function addressBlock(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped) return mapped[1] as string
  if (!address.includes(':')) return address
  const [front = '', back] = (address.split('%')[0] ?? '').split('::')
  const head = front === '' ? [] : front.split(':')
  const tail = back ? back.split(':') : []
  const gap = back === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...new Array<string>(gap).fill('0'), ...tail]
  return `${groups.slice(0, 4).join(':')}::/64`
}
