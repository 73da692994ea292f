import type { Once } from '@shopwire/sdk/webhooks'

/** What is used of a D1 database. A project of yours has `@cloudflare/workers-types` instead. */
export interface D1 {
  prepare(sql: string): {
    bind(...values: (string | number)[]): {
      first(): Promise<Record<string, unknown> | null>
      run(): Promise<unknown>
    }
  }
}

/** The claim of an interrupted handler expires after this time. The store itself waits ten seconds for an answer. */
const CLAIM_MS_MAX = 60_000

/** Stores handled events in the table of schema.sql. */
export function d1Once(db: D1): Once {
  return {
    async claim(id) {
      const nowMs = Date.now()
      // One statement, so of two simultaneous deliveries only one is the first.
      const claimed = await db
        .prepare(`
          insert into events (id, claimed_at) values (?, ?)
          on conflict (id) do update set claimed_at = excluded.claimed_at
            where handled_at is null and events.claimed_at < ?
          returning id`)
        .bind(id, nowMs, nowMs - CLAIM_MS_MAX)
        .first()
      if (claimed) return 'first'
      const known = await db.prepare('select handled_at from events where id = ?').bind(id).first()
      return known?.handled_at ? 'done' : 'busy'
    },
    async settle(id, isHandled) {
      const statement = isHandled
        ? db.prepare('update events set handled_at = ? where id = ?').bind(Date.now(), id)
        : db.prepare('delete from events where id = ? and handled_at is null').bind(id)
      await statement.run()
    },
  }
}
