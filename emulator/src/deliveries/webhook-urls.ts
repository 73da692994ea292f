import { isIP } from 'node:net'
import { type Route, routes } from '@shopwire/contract'
import { checkWebhookUrl, isPublicAddress, refuse } from '@shopwire/service/embedded'

const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa|test)$/

/** Multicast and reserved addresses: 224.0.0.0 and above, ff00::/8. */
const MANY = /^(22[4-9]|2[345]\d)\.|^ff[\da-f]{2}:/i

/** An address on this machine or in its private network, where a real store never delivers. */
export function isOwnPlace(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(host)) return !isPublicAddress(host) && !MANY.test(host)
  return !host.includes('.') || PRIVATE_NAMES.test(host)
}

/** Allows http:// on the developer's machine and network, which no store accepts; for https:// the rules of a real store apply. */
export async function checkUrl(text: string, account_id: string): Promise<string> {
  if (!URL.canParse(text)) return checkWebhookUrl(text, account_id)
  const url = new URL(text)
  if (url.protocol !== 'http:') return checkWebhookUrl(text, account_id)
  if (!isOwnPlace(text) || url.username !== '' || url.password !== '' || text.includes('#')) {
    throw refuse(
      // The same refusal as a real store's for every http:// URL.
      'invalid_request',
      'This URL cannot receive events: http:// is for this machine and its own network. Use a public HTTPS address.',
    )
  }
  return url.href
}

/** The contract's routes, changed so that http:// URLs reach the rules above. */
export const looseRoutes: readonly Route[] = routes.map((route: Route) => {
  if (route.name !== 'postWebhook') return route
  const body = JSON.parse(JSON.stringify(route.body).replace('"^https://"', '"^https?://"'))
  return { ...route, body }
})
