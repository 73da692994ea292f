import type { ReceiveOptions } from '../webhooks/receive.ts'
import { respondTo } from './answer.ts'

/** A route of the App Router: `export const POST = webhook({ secrets, onEvent })`. */
export function webhook(options: ReceiveOptions): (request: Request) => Promise<Response> {
  return (request) => respondTo(request, options)
}
