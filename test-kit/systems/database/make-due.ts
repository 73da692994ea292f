import type { System } from '../system.ts'

/**
 * Lets the hours until the next attempts of an account's deliveries pass at once. The endpoint is locked first, as everywhere: a worker
 * that records several attempts locks the same deliveries in another order.
 */
export async function makeDue({ query }: Pick<System, 'query'>, account_id: string): Promise<void> {
  await query(
    `select from webhook_endpoints where account_id = '${account_id}' and ended_at is null for no key update;
     update delivery_attempts
        set started_at = started_at - interval '2 hours', finished_at = finished_at - interval '2 hours'
      where account_id = '${account_id}';
     update deliveries
        set next_at = now(), first_started_at = first_started_at - interval '2 hours',
            first_finished_at = first_finished_at - interval '2 hours'
      where account_id = '${account_id}' and state = 'pending';
     update jobs set run_at = now(), is_woken = true where account_id = '${account_id}' and queue = 'deliver'`,
  )
}
