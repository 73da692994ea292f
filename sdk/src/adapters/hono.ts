import type { ReceiveOptions } from '../webhooks/receive.ts'
import { requireSecrets } from '../webhooks/secrets.ts'
import { respondTo } from './answer.ts'

/** `app.post('/hooks', webhook({ secrets, onEvent }))` */
export function webhook(options: ReceiveOptions): (context: { req: { raw: Request } }) => Promise<Response> {
  requireSecrets(options.secrets)
  return (context) => respondTo(context.req.raw, options)
}
