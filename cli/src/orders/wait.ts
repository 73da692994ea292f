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

/** A script that goes on after this has its links: so anything but a delivery is not a 0. */
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
    why: `It was bought ${moment(order.created_at)} and is ${order.status}. Nothing is lost, and there is nothing to buy again: it will be delivered, or cancelled and refunded.`,
    // The id as it was typed: what a store calls it is nothing to paste into a shell.
    next: `Wait on, or let a webhook tell you:\n${again(`shopwire orders wait ${id}`)}`,
    requestId,
    exitCode: EXIT.unavailable,
  })
}
