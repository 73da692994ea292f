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
