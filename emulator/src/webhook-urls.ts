import { isIP } from 'node:net'
import { type Route, routes } from '@shopwire/contract'
import { checkWebhookUrl, isPublicAddress, refuse } from '@shopwire/service/embedded'

const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa|test)$/

/** Addresses of many at once, or of nobody: 224.0.0.0 and above, ff00::/8. */
const MANY = /^(22[4-9]|2[345]\d)\.|^ff[\da-f]{2}:/i

/** A place on this machine or in its own network, where a real store never delivers. */
export function isOwnPlace(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(host)) return !isPublicAddress(host) && !MANY.test(host)
  return !host.includes('.') || PRIVATE_NAMES.test(host)
}

/** What a developer's own machine may be called; for everybody else the rules of a real store. */
export async function checkUrl(text: string, account_id: string): Promise<string> {
  if (!URL.canParse(text)) return checkWebhookUrl(text, account_id)
  const url = new URL(text)
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:'
  if (isWeb && isOwnPlace(text) && url.username === '' && url.password === '' && !text.includes('#'))
    return url.href
  if (url.protocol === 'http:') {
    throw refuse(
      // As a real store says it of every http://.
      'invalid_request',
      'This URL cannot receive events: http:// is for this machine and its own network. Use a public HTTPS address.',
    )
  }
  return checkWebhookUrl(text, account_id)
}

/** The contract's routes, with http:// let through to the rules above. */
export const looseRoutes: readonly Route[] = routes.map((route: Route) => {
  if (route.name !== 'postWebhook') return route
  const body = JSON.parse(JSON.stringify(route.body).replace('"^https://"', '"^https?://"'))
  return { ...route, body }
})
