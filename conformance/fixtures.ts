import type { Receiver } from './receiver.ts'

export const scopes = [
  'account:read',
  'catalogue:read',
  'orders:read',
  'orders:write',
  'webhooks:read',
  'webhooks:write',
] as const
export type Scope = (typeof scopes)[number]

export interface Key {
  readonly id: string
  readonly secret: string
  /** Keys with the same name here share one account, and so its balance and its limits. */
  readonly account: string
}

export interface Item {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly collection: string
  readonly price_cents: number
  readonly sellable: boolean
  readonly available_until: string | null
}

/** Kinds of items that checks ask for. Those that are not named are looked for in the catalogue. */
export const itemKinds = [
  'plain',
  'other',
  'unsellable',
  'ended',
  'frame',
  'expensive',
  'free',
  'stocked',
] as const
export type ItemKind = (typeof itemKinds)[number]

/**
 * What a check can work with. Only `buyers` is needed; a check whose other needs are not met is skipped and counted. The
 * members up to `items` can come from a file.
 */
export interface Fixtures {
  /** Keys with all scopes, one per account, each with money where money may be spent. */
  readonly buyers: readonly Key[]
  /** Keys of one account: one for each scope alone, one for each scope missing. */
  readonly only?: Readonly<Record<Scope, Key>>
  readonly without?: Readonly<Record<Scope, Key>>
  /** With all scopes and no money. */
  readonly poor?: Key
  readonly suspended?: Key
  readonly revoked?: Key
  readonly items?: Partial<Readonly<Record<ItemKind, Item>>>
  readonly receiver?: Receiver
  readonly operator?: Operator
}

/** What only the owner of the store can do. */
export interface Operator {
  closeStore(): Promise<void>
  openStore(): Promise<void>
  newKey(account: string, scopes: string): Promise<Key>
  revoke(key: Key): Promise<void>
  cancel(orderId: string): Promise<void>
  setPrice(itemId: string, cents: number): Promise<void>
  rotateWebhookSecret(account: string): Promise<string>
  suspend(account: string): Promise<void>
  resume(account: string): Promise<void>
  fund(account: string, cents: number): Promise<void>
}

/** What a check may need, in the words in which it is reported as missing. */
export const needs = {
  only: 'keys with one scope each',
  without: 'keys with one scope missing each',
  poor: 'a key of an account without money',
  suspended: 'a key of a suspended account',
  revoked: 'a revoked key',
  receiver: 'a receiver with a public HTTPS address',
  operator: 'the operator of the store',
  twoBuyers: 'keys of two accounts',
  spend: '--spend: balance may be spent',
  webhooks: '--webhooks: the endpoint of the account may be changed',
  limits: '--limits: the rate limits may be used up',
} as const
export type Need = keyof typeof needs | `item:${ItemKind}`

export interface Allowed {
  readonly spend: boolean
  readonly webhooks: boolean
  readonly limits: boolean
}

/** What a check needs and does not have, as text; undefined when it has everything. */
export function lacking(fixtures: Fixtures, allowed: Allowed, wanted: readonly Need[]): string | undefined {
  const missing = wanted.filter((need) => !has(fixtures, allowed, need))
  if (missing.length === 0) return undefined
  return missing
    .map((need) =>
      need.startsWith('item:') ? `an item of the kind "${need.slice(5)}"` : needs[need as keyof typeof needs],
    )
    .join(' and ')
}

function has(fixtures: Fixtures, allowed: Allowed, need: Need): boolean {
  if (need === 'spend' || need === 'webhooks' || need === 'limits') return allowed[need]
  if (need === 'twoBuyers') return fixtures.buyers.length > 1
  if (need.startsWith('item:')) return fixtures.items?.[need.slice(5) as ItemKind] !== undefined
  return fixtures[need as 'poor'] !== undefined
}

const PRICE_CENTS_MAX = 500_000

/** Finds an item of each kind among those the catalogue lists; named ones stay. */
export function sortItems(
  listed: readonly Item[],
  named: Fixtures['items'] = {},
): NonNullable<Fixtures['items']> {
  const nowMs = Date.now()
  const isEnded = ({ available_until }: Item) =>
    available_until !== null && Date.parse(available_until) <= nowMs
  const sellable = listed.filter((one) => one.sellable && one.available_until === null)
  const [plain, other] = sellable.filter(
    ({ price_cents, type }) => price_cents > 0 && price_cents < PRICE_CENTS_MAX / 25 && type !== 'frame',
  )
  const found: Partial<Record<ItemKind, Item | undefined>> = {
    plain,
    other,
    unsellable: listed.find((one) => !one.sellable && !isEnded(one)),
    ended: listed.find((one) => isEnded(one)),
    frame: listed.find(({ type }) => type === 'frame'),
    expensive: sellable.find(
      ({ price_cents }) => price_cents * 10 > PRICE_CENTS_MAX && price_cents <= PRICE_CENTS_MAX,
    ),
    free: sellable.find(({ price_cents }) => price_cents === 0),
    ...named,
  }
  return Object.fromEntries(Object.entries(found).filter(([, one]) => one !== undefined)) as NonNullable<
    Fixtures['items']
  >
}
