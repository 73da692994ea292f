import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { createLookUp, type LookUp } from './name-lookup.ts'

/**
 * Whether an address is somebody's on the public internet: nothing local, private, reserved, or able to carry another address
 * inside it (mapped, translated, tunnelled), whatever a route behind us would do with it.
 */
export function isPublicAddress(text: string): boolean {
  // The library also reads short forms, which a dialler might read in another way.
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  // What is unicast and lies outside 2000::/3 has never been given to anybody; old forms of IPv4 in IPv6 are there.
  return address.kind() === 'ipv4' || isGlobalUnicast(address as ipaddr.IPv6)
}

function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  return ((address.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** Refused before a packet leaves: the address, or one of those a name stands for, is not public. */
export class AddressBlocked extends Error {
  override readonly name = 'AddressBlocked'
}

export interface CheckOptions {
  /** Who chose the host. */
  readonly owner: string
  readonly signal?: AbortSignal
  /** Instead of the system's name servers. */
  readonly lookUp?: LookUp
}

/** Of each family: whoever owns a name could otherwise have any number of servers dialled. */
const DIALLED_PER_FAMILY_MAX = 2
const systemLookUp = createLookUp()

/** The addresses to dial, best first. One answer of the resolver that is not public spoils all of them. */
export async function checkedAddresses(
  host: string,
  { owner, signal, lookUp = systemLookUp }: CheckOptions,
): Promise<string[]> {
  const answers = isIP(host) ? [host] : await lookUp(host, owner, signal)
  if (!answers.every(isPublicAddress)) throw new AddressBlocked(host)
  // IPv4 first: where one of the two is broken, it is nearly always IPv6.
  return [4, 6].flatMap((family) =>
    answers.filter((address) => isIP(address) === family).slice(0, DIALLED_PER_FAMILY_MAX),
  )
}

/** IPv6 literals stand in brackets in a URL and nowhere else. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
