import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

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

/** The address to dial. One answer of the resolver that is not public spoils all of them. */
export async function checkedAddress(host: string): Promise<string> {
  const answers = isIP(host) ? [{ address: host }] : await lookup(host, { all: true, verbatim: true })
  const [first] = answers
  if (!first || !answers.every(({ address }) => isPublicAddress(address))) throw new AddressBlocked(host)
  return first.address
}

/** IPv6 literals stand in brackets in a URL and nowhere else. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
