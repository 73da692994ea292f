import type { WebhookEvent } from '../types.ts'
import type { ReceiveOptions } from '../webhooks/receive.ts'
import { requireSecrets } from '../webhooks/secrets.ts'
import { respondTo } from './answer.ts'

export interface WorkersOptions<Env, Context> extends Omit<ReceiveOptions, 'secrets' | 'onEvent' | 'once'> {
  /** A Worker gets its secrets with each request. */
  secrets: ReceiveOptions['secrets'] | ((env: Env) => ReceiveOptions['secrets'])
  onEvent: (event: WebhookEvent, env: Env, context: Context) => unknown
  once?: ReceiveOptions['once'] | ((env: Env) => ReceiveOptions['once'])
}

/** `export default { fetch: webhook({ secrets: (env) => env.SHOPWIRE_WEBHOOK_SECRET, onEvent }) }`; also `Deno.serve(webhook(options))` and `Bun.serve`. */
export function webhook<Env = unknown, Context = unknown>(
  options: WorkersOptions<Env, Context>,
): (request: Request, ...given: Given<Env, Context>) => Promise<Response> {
  const { secrets, onEvent, once, ...rest } = options
  if (typeof secrets !== 'function') requireSecrets(secrets)
  return async (request, ...given) => {
    const [env, context] = given as [Env, Context]
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } })
    return respondTo(request, {
      ...rest,
      secrets: typeof secrets === 'function' ? secrets(env) : secrets,
      once: typeof once === 'function' ? once(env) : once,
      onEvent: (event) => onEvent(event, env, context),
    })
  }
}

/** `env` and `context` are required only when the handler's type parameters ask for them. */
type Given<Env, Context> = unknown extends Context
  ? unknown extends Env
    ? [env?: Env, context?: Context]
    : [env: Env, context?: Context]
  : [env: Env, context: Context]
