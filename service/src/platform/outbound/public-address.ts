import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { createLookUp, type LookUp } from './name-lookup.ts'
import { ANY_NETWORK, type OutboundNetworks } from './outbound-networks.ts'

/** Public by its number, but served inside the host: DNS, DHCP and the machine agent at Azure. */
const NOT_OF_THE_INTERNET: ReadonlySet<string> = new Set(['168.63.129.16'])

/**
 * Whether an address is public: not local, private or reserved, and not a form that carries another address inside it (mapped,
 * translated, tunnelled), whatever a route behind us would do with it.
 */
export function isPublicAddress(text: string): boolean {
  // The library also accepts short forms, which another parser might read differently.
  if (isIP(text) === 0) return false
  if (NOT_OF_THE_INTERNET.has(text)) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  // Unicast outside 2000::/3 is unassigned, and holds old forms of IPv4 in IPv6.
  return address.kind() === 'ipv4' || isGlobalUnicast(address as ipaddr.IPv6)
}

function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return ((address.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** Refused before anything is sent: one of the addresses is not public, or the operator's lists exclude it. */
export class AddressBlocked extends Error {
  override readonly name = 'AddressBlocked'
}

export interface CheckOptions {
  /** The account that chose the host. */
  readonly owner: string
  readonly signal?: AbortSignal
  /** Used instead of the system's name servers. */
  readonly lookUp?: LookUp
  /** The operator's lists. */
  readonly networks?: OutboundNetworks
}

/** Per family: otherwise the owner of a name could make us connect to any number of servers. */
const DIALLED_PER_FAMILY_MAX = 2
const systemLookUp = createLookUp()

/** The addresses to connect to, best first. If one answer of the resolver is not public or not allowed, all are refused. */
export async function checkedAddresses(
  host: string,
  { owner, signal, lookUp = systemLookUp, networks = ANY_NETWORK }: CheckOptions,
): Promise<string[]> {
  const answers = isIP(host) ? [host] : await lookUp(host, owner, signal)
  const mayDial = (address: string) => isPublicAddress(address) && networks.allow(address)
  if (!answers.every(mayDial)) throw new AddressBlocked(host)
  // IPv4 first: where one family is broken, it is usually IPv6.
  return [4, 6].flatMap((family) =>
    answers.filter((address) => isIP(address) === family).slice(0, DIALLED_PER_FAMILY_MAX),
  )
}

/** Removes the brackets that IPv6 literals have in URLs. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
