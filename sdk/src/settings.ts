import { BASE_PATH, KEY_ID_FORM } from './contract.ts'
import { readVariable } from './environment.ts'

export interface ShopwireOptions {
  /** The public id of the API key; otherwise SHOPWIRE_API_KEY. */
  keyId?: string | undefined
  /** The secret of the API key; otherwise SHOPWIRE_API_SECRET. */
  secret?: string | undefined
  /** The store's address, `/v1` included; otherwise SHOPWIRE_BASE_URL. */
  baseUrl?: string | undefined
  /**
   * Accepts an `http://` address of another machine, such as an emulator in a container. Loopback addresses are
   * always accepted.
   */
  allowHttp?: boolean | undefined
  /** Instead of the global one, for a proxy or a test. */
  fetch?: typeof globalThis.fetch | undefined
  /** How often a request is sent again when that is safe; 2 by default. */
  maxRetries?: number | undefined
  /** Milliseconds for each attempt, from its first byte to the last of the answer; 20 000 by default. */
  timeout?: number | undefined
  /** The clock, in milliseconds; Date.now by default. */
  now?: (() => number) | undefined
  /** In a browser everybody can read the secret and spend the balance with it. */
  dangerouslyAllowBrowser?: boolean | undefined
}

/** Overrides the client's options for one call. */
export interface CallOptions {
  /** Aborts the call, even while it waits for a retry. The call rejects with an AbortedError. */
  signal?: AbortSignal | undefined
  /**
   * Milliseconds for the whole call: all attempts and the pauses between them. After that it fails with a TimeoutError;
   * sooner, when the pause that is required would end later. No limit by default. In `iterate` and `snapshot`, for each page.
   */
  within?: number | undefined
  timeout?: number | undefined
  maxRetries?: number | undefined
}

export interface Settings {
  readonly keyId: string
  readonly secret: string
  readonly baseUrl: string
  readonly fetch: typeof globalThis.fetch
  readonly maxRetries: number
  readonly timeout: number
  readonly now: () => number
}

const MAX_RETRIES_DEFAULT = 2
const TIMEOUT_MS_DEFAULT = 20_000

export function readSettings(options: ShopwireOptions): Settings {
  if (isBrowser() && !options.dangerouslyAllowBrowser) {
    throw new TypeError(
      'This is a browser, where everybody can read the API secret and spend your balance. Call the store from your server. To use it in a browser regardless, set dangerouslyAllowBrowser.',
    )
  }
  const keyId = need(options.keyId, 'keyId', 'SHOPWIRE_API_KEY')
  const secret = need(options.secret, 'secret', 'SHOPWIRE_API_SECRET')
  if (KEY_ID_FORM.test(secret)) {
    // Sending it as the key id would show the secret to every proxy on the way.
    throw new TypeError(
      'The secret is a key id: keyId and secret are probably swapped. So are SHOPWIRE_API_KEY and SHOPWIRE_API_SECRET, if they come from there.',
    )
  }
  return {
    keyId,
    secret,
    baseUrl: checkedBaseUrl(need(options.baseUrl, 'baseUrl', 'SHOPWIRE_BASE_URL'), options.allowHttp),
    fetch: options.fetch ?? globalThis.fetch,
    maxRetries: options.maxRetries ?? MAX_RETRIES_DEFAULT,
    timeout: options.timeout ?? TIMEOUT_MS_DEFAULT,
    now: options.now ?? Date.now,
  }
}

function need(given: string | undefined, option: string, variable: string): string {
  const value = given ?? readVariable(variable)
  if (value) return value
  throw new TypeError(`No ${option}: pass it to new Shopwire({ ${option} }), or set ${variable}.`)
}

/** Error messages never repeat the parts of the URL that may hold a password or token. */
function checkedBaseUrl(text: string, allowHttp = false): string {
  const trimmed = text.replace(/\/+$/, '')
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined
  const refuse = (why: string) =>
    new TypeError(`baseUrl ${why}. It must look like https://shop.example${BASE_PATH}.`)
  if (!url) throw refuse('is not a URL')
  if (url.username || url.password) throw refuse('carries credentials: remove them, requests are signed')
  if (url.protocol === 'http:' && !allowHttp && !LOOPBACK.test(url.hostname)) {
    throw refuse(
      'is http://, which is not encrypted: anyone on the network path can read links and change orders. Use https://, or set allowHttp for a test store',
    )
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('is not a web address')
  // A query would come before the path.
  if (url.search || url.hash || !url.pathname.endsWith(BASE_PATH)) {
    throw refuse(`is ${url.origin}${url.pathname}${url.search && '?…'}${url.hash && '#…'}`)
  }
  return url.href
}
const LOOPBACK = /^((.+\.)?localhost\.?|127(\.\d+){3}|\[::1\])$/

function isBrowser(): boolean {
  const { window } = globalThis as { window?: { document?: unknown } }
  return window?.document !== undefined
}
