import { OrderPendingError } from '@shopwire/sdk'
import type { Context, Outcome } from '../context.ts'
import { moment } from '../terminal/words.ts'
import { CliError, EXIT } from '../trouble.ts'
import { orderText, withoutLinks } from './present.ts'

export interface WaitOptions {
  /** Seconds. */
  readonly within: number
  readonly links?: true
}

/** Exits with 0 only for a delivered order, so that a script can rely on the links. */
export async function waitForOrder(
  context: Context,
  id: string,
  { within, links }: WaitOptions,
): Promise<Outcome> {
  const { out } = context
  const shop = await context.shop()
  out.note(`Waiting for ${id}, ${within} s at most.`)
  const order = await shop.orders.wait(id, { within: within * 1000 }).catch((error: unknown) => {
    throw error instanceof OrderPendingError ? stillPending(context, id, within, error) : error
  })
  out.show(links ? order : withoutLinks(order), () => orderText(order, links === true, out.paint))
  return order.status === 'delivered' ? EXIT.ok : EXIT.failed
}

function stillPending(
  { again }: Context,
  id: string,
  within: number,
  { order, requestId }: OrderPendingError,
): CliError {
  return new CliError({
    type: 'order_pending',
    message: `${id} is not delivered yet, after ${within} s.`,
    why: `It was bought ${moment(order.created_at)} and is ${order.status}. Do not buy it again: it will be delivered, or cancelled and refunded.`,
    // The id as it was typed: an id from the store's answer must not be pasted into a shell.
    next: `Wait again, or use webhooks:\n${again(`shopwire orders wait ${id}`)}`,
    requestId,
    exitCode: EXIT.unavailable,
  })
}
