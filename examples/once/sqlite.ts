import { DatabaseSync } from 'node:sqlite'
import type { Once } from '@shopwire/sdk/webhooks'

/** The claim of a crashed handler expires after this time. The store itself waits ten seconds for an answer. */
const CLAIM_MS_MAX = 60_000

/** Stores handled events in a file that several processes can share. Node, Bun and Deno have `node:sqlite`. */
export function sqliteOnce(path: string): Once {
  const db = new DatabaseSync(path, { timeout: 5_000 })
  db.exec(`
    pragma journal_mode = wal;
    create table if not exists events (
      id text primary key,
      claimed_at integer not null,
      handled_at integer
    ) strict`)
  const claim = db.prepare(`
    insert into events (id, claimed_at) values (?, ?)
    on conflict (id) do update set claimed_at = excluded.claimed_at
      where handled_at is null and events.claimed_at < ?
    returning id`)
  const known = db.prepare('select handled_at from events where id = ?')
  const keep = db.prepare('update events set handled_at = ? where id = ?')
  const release = db.prepare('delete from events where id = ? and handled_at is null')
  return {
    claim(id) {
      const nowMs = Date.now()
      // One statement, so of two simultaneous deliveries only one is the first.
      if (claim.get(id, nowMs, nowMs - CLAIM_MS_MAX)) return 'first'
      return known.get(id)?.handled_at ? 'done' : 'busy'
    },
    settle(id, isHandled) {
      if (isHandled) keep.run(Date.now(), id)
      else release.run(id)
    },
  }
}
