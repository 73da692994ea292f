import { readVariable } from '../environment.ts'
import type { ReceiveOptions } from '../webhooks/receive.ts'
import { requireSecrets } from '../webhooks/secrets.ts'
import { respondTo } from './answer.ts'

/** A route of the App Router: `export const POST = webhook({ secrets, onEvent })`. */
export function webhook(options: ReceiveOptions): (request: Request) => Promise<Response> {
  // `next build` loads every route, often on build machines that must not hold secrets, so secrets are checked per request.
  if (readVariable('NEXT_PHASE') !== 'phase-production-build') requireSecrets(options.secrets)
  return (request) => respondTo(request, options)
}
