import { readVariable } from '../environment.ts'
import type { ReceiveOptions } from '../webhooks/receive.ts'
import { requireSecrets } from '../webhooks/secrets.ts'
import { respondTo } from './answer.ts'

/** A route of the App Router: `export const POST = webhook({ secrets, onEvent })`. */
export function webhook(options: ReceiveOptions): (request: Request) => Promise<Response> {
  // `next build` loads every route, on machines that have no business with secrets.
  if (readVariable('NEXT_PHASE') !== 'phase-production-build') requireSecrets(options.secrets)
  return (request) => respondTo(request, options)
}
