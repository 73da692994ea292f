import { isIP } from 'node:net'
import { LookupFailed } from '../platform/outbound/name-lookup.ts'
import { ANY_NETWORK, type OutboundNetworks } from '../platform/outbound/outbound-networks.ts'
import {
  AddressBlocked,
  bare,
  checkedAddresses,
  isPublicAddress,
} from '../platform/outbound/public-address.ts'
import { type Refusal, refuse } from '../platform/trouble.ts'

/** Ports above 1023 that browsers block too: services such as mail and chat that an HTTP request could be made to talk to. */
const BAD_PORTS = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10080,
])
const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/

/**
 * Returns the normalised URL or refuses it and says why. The host is resolved too, and refused if it has a private address now.
 * Passing this check does not guarantee delivery: every delivery checks the addresses again. Look-ups are limited per account and
 * take at most two seconds.
 */
export async function checkWebhookUrl(
  text: string,
  account_id: string,
  networks = ANY_NETWORK,
): Promise<string> {
  if (!URL.canParse(text)) throw notAllowed('it is not a URL')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw notAllowed('it carries credentials')
  if (url.hash !== '' || text.includes('#')) throw notAllowed('it carries a fragment')
  if (!isPortAllowed(url)) throw notAllowed(`port ${url.port} is not one we deliver to`)
  await checkHost(bare(url.hostname), account_id, networks)
  return url.href
}

async function checkHost(host: string, account_id: string, networks: OutboundNetworks) {
  if (isIP(host)) {
    if (!isPublicAddress(host)) throw notAllowed('its address is not a public one')
    if (!networks.allow(host)) throw notAllowed('its address is in a network that we do not deliver to')
    return
  }
  const name = host.replace(/\.$/, '')
  if (!name.includes('.') || PRIVATE_NAMES.test(name)) throw notAllowed('its host is not a public name')
  try {
    await checkedAddresses(host, { owner: account_id, networks })
  } catch (error) {
    if (error instanceof AddressBlocked)
      throw notAllowed('its host has an address that is not public, or that we do not deliver to')
    if (!(error instanceof LookupFailed)) throw error
    if (error.isUnknownName) throw notAllowed('its host is not known')
    // A resolver failure does not mean that the host is wrong. Deliveries look it up again.
  }
}

function isPortAllowed({ port }: URL): boolean {
  if (port === '') return true
  return Number(port) >= 1024 && !BAD_PORTS.has(Number(port))
}

function notAllowed(why: string): Refusal {
  return refuse(
    'webhook_url_not_allowed',
    `This URL cannot receive events: ${why}. Use a public HTTPS address, port 443 or from 1024 on.`,
  )
}
