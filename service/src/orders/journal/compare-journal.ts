import { type Db, type Queryable, sql } from '../../platform/database/db.ts'
import type { Journal, SoldLink } from '../../supply/journal.ts'

/** A link that was sold according to the journal, and whose delivery is missing in this database. */
export interface LostLink extends SoldLink {
  /** False: the delivery may have been rolled back after the link was written to the journal; which of the two is unknown. */
  readonly is_acknowledged: boolean
  /** False: the journal names several orders for it, so it is given to none. */
  readonly is_certain: boolean
  readonly where: WhereNow
  /** The state of the order it was sold to, in this database; null when there is no such order. */
  readonly order_status: 'paid' | 'cancelled' | null
  /** An earlier comparison has recorded it. */
  readonly is_recorded: boolean
}

/**
 * Where the link is in this database: with its own order, which is not delivered; with another order whose links were never shown;
 * with another order that was delivered; in a pool; nowhere.
 */
export type WhereNow = 'own order' | 'waiting order' | 'delivered order' | 'pool' | 'nowhere'

export interface JournalComparison {
  readonly read_from: Date
  /** Sold links in the journal since that time. */
  readonly links: number
  readonly lost: readonly LostLink[]
  /** Damaged lines, by file. */
  readonly damaged: ReadonlyMap<string, number>
}

const BATCH = 1_000

/** Compares everything that was sold from a time on, according to the journal, with this database. Changes nothing. */
export async function compareJournal(db: Db, journal: Journal, read_from: Date): Promise<JournalComparison> {
  const damaged = new Map<string, number>()
  const acknowledged = new Set<string>()
  const found = new Map<string, Found>()
  let links = 0
  const onDamaged = (where: string) => void damaged.set(where, (damaged.get(where) ?? 0) + 1)
  for await (const entries of journal.read(read_from, onDamaged)) {
    const sold = entries.filter((entry) => entry.kind === 'sold')
    links += sold.length
    for (const { kind, order_id } of entries) if (kind === 'delivered') acknowledged.add(order_id)
    for (let from = 0; from < sold.length; from += BATCH)
      await addUnknown(db, sold.slice(from, from + BATCH), found)
  }
  const lost = [...found.values()].flatMap((one) => toLost(one, acknowledged))
  lost.sort((a, b) => a.at.getTime() - b.at.getTime())
  return { read_from, links, lost, damaged }
}

/** How many links were sold since a time, according to the journal. */
export async function countSold(journal: Journal, from: Date): Promise<number> {
  let links = 0
  for await (const entries of journal.read(from, () => {}))
    links += entries.filter(({ kind }) => kind === 'sold').length
  return links
}

/** Everything about one link that is not where the journal says it should be. */
interface Found {
  readonly entries: SoldLink[]
  readonly place: PlaceRow
}

type PlaceRow = Pick<LostLink, 'where' | 'order_status' | 'is_recorded'>

async function addUnknown(db: Queryable, sold: readonly SoldLink[], found: Map<string, Found>) {
  const places = await selectPlaces(db, sold)
  for (const [n, entry] of sold.entries()) {
    const place = places[n] as PlaceRow & { is_known: boolean }
    const key = entry.hash.toString('hex')
    const before = found.get(key)
    if (before) before.entries.push(entry)
    else if (!place.is_known) found.set(key, { entries: [entry], place })
  }
}

function toLost({ entries, place }: Found, acknowledged: ReadonlySet<string>): LostLink[] {
  // Of several orders, those whose delivery was committed; the others were rolled back, and the link was sold again.
  const certain = entries.filter(({ order_id }) => acknowledged.has(order_id))
  const candidates = certain.length > 0 ? certain : entries
  const newest = candidates.reduce((a, b) => (a.at > b.at ? a : b))
  // An attempt that was rolled back; then the link was sold to the order that has it.
  if (place.where === 'delivered order' && certain.length === 0) return []
  const is_certain = candidates.every(({ order_id }) => order_id === newest.order_id)
  return [{ ...newest, ...place, is_certain, is_acknowledged: certain.length > 0 }]
}

/**
 * In the given order. An order that is delivered here has all its links: a link in the journal that it does not have was written by
 * an attempt that was rolled back.
 */
const selectPlaces = (db: Queryable, sold: readonly SoldLink[]) =>
  db.many<PlaceRow & { is_known: boolean }>(sql`
    select o.status as order_status, l.hash is not null as is_recorded,
           coalesce(o.status = 'delivered', false) as is_known,
           case
             when k.order_id = j.order_id then 'own order'
             when h.status = 'delivered' then 'delivered order'
             when k.order_id is not null then 'waiting order'
             when p.link_hash is not null then 'pool'
             else 'nowhere'
           end as where
      from unnest(${sold.map(({ account_id }) => account_id)}::text[], ${sold.map(({ order_id }) => order_id)}::text[],
                  ${sold.map(({ hash }) => hash)}::bytea[]) with ordinality as j (account_id, order_id, hash, n)
      left join orders o on o.account_id = j.account_id and o.id = j.order_id
      left join order_links k on k.link_hash = j.hash
      left join orders h on h.account_id = k.account_id and h.id = k.order_id
      left join pool_links p on p.link_hash = j.hash
      left join lost_links l on l.hash = j.hash
     order by j.n`)
