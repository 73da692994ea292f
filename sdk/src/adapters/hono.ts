import type { ReceiveOptions } from '../webhooks/receive.ts'
import { respondTo } from './answer.ts'

/** `app.post('/hooks', webhook({ secrets, onEvent }))` */
export function webhook(options: ReceiveOptions): (context: { req: { raw: Request } }) => Promise<Response> {
  return (context) => respondTo(context.req.raw, options)
}
