import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { UsageError } from '../trouble.ts'

/** `localhost:3000/hooks` means http. */
export function parseTarget(text: string, option: string): URL {
  const withScheme = /^https?:\/\//.test(text) ? text : `http://${text}`
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined
  if (!url || url.hostname === '' || url.username) {
    throw new UsageError(
      `${option} ${JSON.stringify(text)} is not an address.`,
      'Such as localhost:3000/hooks or http://127.0.0.1:3000/hooks.',
    )
  }
  return url
}

const nearby = new BlockList()
for (const [net, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const) {
  nearby.addSubnet(net, bits, 'ipv4')
}
nearby.addAddress('::1', 'ipv6')
nearby.addSubnet('fc00::', 7, 'ipv6')
nearby.addSubnet('fe80::', 10, 'ipv6')

/**
 * Simulated events carry a valid signature, so they are sent only to this machine or a private network; elsewhere
 * they could be mistaken for real ones.
 */
export async function refuseFarTarget(url: URL, isAnywhere: boolean | undefined): Promise<void> {
  if (isAnywhere) return
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host)
    ? [host]
    : (await lookup(host, { all: true }).catch(() => [])).map(({ address }) => address)
  // An unknown name fails later, when the request is sent.
  if (addresses.every((address) => nearby.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'))) return
  throw new UsageError(
    `${url.host} is neither this machine nor a private network.`,
    'Simulated events are for your own receiver. If it is yours, add --anywhere.',
  )
}
