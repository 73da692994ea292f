import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

/** The operator's lists of networks for outbound connections. */
export interface OutboundNetworks {
  /** False when there are no lists: then no address has to be known before connecting. */
  readonly isLimited: boolean
  /** Whether the lists allow a connection to this address. They never allow what the SSRF guard refuses. */
  allow(address: string): boolean
}

export const ANY_NETWORK: OutboundNetworks = { isLimited: false, allow: () => true }

/** The deny list wins. With an allow list, only its networks are dialled. */
export function outboundNetworks(
  allowed: readonly string[] | undefined,
  denied: readonly string[] | undefined,
): OutboundNetworks {
  if (allowed === undefined && denied === undefined) return ANY_NETWORK
  const [allow, deny] = [allowed?.map(parseNetwork), (denied ?? []).map(parseNetwork)]
  return {
    isLimited: true,
    allow(text) {
      if (isIP(text) === 0) return false
      const address = ipaddr.parse(text)
      if ([address, ...ipv4Within(address, CARRIERS)].some((form) => isIn(form, deny))) return false
      return (
        allow === undefined ||
        [address, ...ipv4Within(address, SAME_SERVER)].some((form) => isIn(form, allow))
      )
    },
  }
}

/** Why this text is not a network for the lists, otherwise undefined. */
export function objectionToNetwork(text: string): string | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = isIP(address)
  if (family === 0 || address.includes('%') || Number(bits ?? 0) > (family === 4 ? 32 : 128))
    return `"${text}" is not a network such as 10.0.0.0/8 or 2001:db8::/32`
  const [base, length] = parseNetwork(text)
  const first = base.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const canonical = first.networkAddressFromCIDR(`${base}/${length}`).toString()
  if (canonical !== base.toString())
    return `"${text}" has bits set beyond its prefix length: write ${canonical}/${length}, or the address alone`
  return base.kind() === 'ipv6' && (base as ipaddr.IPv6).isIPv4MappedAddress()
    ? `"${text}" is IPv4 in the form of IPv6: write it as IPv4`
    : undefined
}

function parseNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const isIn = (address: Address, networks: readonly Network[]) =>
  networks.some(
    ([base, length]) => base.kind() === address.kind() && address.match(base as ipaddr.IPv6, length),
  )

interface Carrier {
  readonly prefix: Network
  /** The 16-bit group of the IPv6 address at which the IPv4 address begins. */
  readonly at: number
  /** Teredo stores it inverted. */
  readonly mask?: number
}

const carrier = (prefix: string, at: number, mask?: number): Carrier => ({
  prefix: ipaddr.parseCIDR(prefix),
  at,
  ...(mask !== undefined && { mask }),
})

/** IPv6 addresses that reach a server by its IPv4 address: mapped, and the well-known prefix of NAT64. */
const SAME_SERVER = [carrier('::ffff:0:0/96', 6), carrier('64:ff9b::/96', 6)]
/** All IPv6 forms that carry an IPv4 address: a deny list covers these too, whatever a router makes of them. */
const CARRIERS = [
  ...SAME_SERVER,
  carrier('::/96', 6),
  carrier('::ffff:0:0:0/96', 6),
  carrier('64:ff9b:1::/48', 6),
  carrier('2002::/16', 1),
  carrier('2001::/32', 6, 0xffff),
]

function ipv4Within(address: Address, carriers: readonly Carrier[]): ipaddr.IPv4[] {
  if (address.kind() === 'ipv4') return []
  const { parts } = address as ipaddr.IPv6
  return carriers
    .filter(({ prefix }) => isIn(address, [prefix]))
    .map(({ at, mask = 0 }) => {
      const [high, low] = [(parts[at] ?? 0) ^ mask, (parts[at + 1] ?? 0) ^ mask]
      return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
    })
}
