import { createHmac, type KeyObject } from 'node:crypto'
import type { Db } from '../platform/database/db.ts'
import type { Keyring, RowBinding, Sealed } from '../platform/encryption/encryption.ts'
import { readOwnKey } from '../platform/encryption/own-key.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import { assert, refuse } from '../platform/trouble.ts'

/** A link as stored: unreadable without our keys, recognisable by its fingerprint. */
export interface SealedLink {
  readonly link_sealed: Buffer
  readonly link_kek_id: string
  readonly link_hash: Buffer
}

export interface OrderPlace {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  readonly unit: number
}

export interface PoolPlace {
  readonly item_id: string
  readonly id: string
}

/** Seals gift links, each for the one row it may be opened in, and makes the fingerprints that reveal duplicates. */
export interface LinkVault {
  /** Loads the key of the fingerprints. Call it outside transactions: it needs its own connection. */
  open(): Promise<void>
  /** The same for two spellings of one URL. */
  fingerprint(link: string): Buffer
  sealForPool(link: string, place: PoolPlace): Promise<SealedLink>
  sealForOrder(link: string, place: OrderPlace): Promise<SealedLink>
  openFromPool(sealed: Uint8Array, place: PoolPlace): Promise<string>
  openFromOrder(sealed: Uint8Array, place: OrderPlace): Promise<string>
}

/** For code that shows links and stores none. */
export type OpensLinks = Pick<LinkVault, 'openFromOrder'>

const LINK_LENGTH_MAX = 2_000

export function createLinkVault(db: Db, keyring: Keyring): LinkVault {
  let indexKey: KeyObject | undefined
  const fingerprint = (link: string) => {
    assert(indexKey, 'the vault is open before links are fingerprinted')
    const url = new URL(link)
    url.hash = ''
    return createHmac('sha256', indexKey).update(url.href).digest()
  }
  async function seal(link: string, binding: RowBinding): Promise<SealedLink> {
    const { bytes, kek_id }: Sealed = await keyring.seal(link, binding)
    return { link_sealed: bytes, link_kek_id: kek_id, link_hash: fingerprint(link) }
  }
  return {
    async open() {
      indexKey ??= await readOwnKey(db, keyring, 'link-index')
    },
    fingerprint,
    sealForPool: (link, place) => seal(link, poolBinding(place)),
    sealForOrder: (link, place) => seal(link, orderBinding(place)),
    openFromPool: (sealed, place) => keyring.open(sealed, poolBinding(place)),
    openFromOrder: (sealed, place) => keyring.open(sealed, orderBinding(place)),
  }
}

export const poolLinkSecrets: SealedColumn = {
  table: 'pool_links',
  keys: ['item_id', 'id'],
  column: 'link',
  bindingOf: ({ item_id, id }) => poolBinding({ item_id: String(item_id), id: String(id) }),
}

export const orderLinkSecrets: SealedColumn = {
  table: 'order_links',
  keys: ['order_id', 'line', 'unit', 'account_id'],
  column: 'link',
  bindingOf: ({ account_id, order_id, line, unit }) =>
    orderBinding({
      account_id: String(account_id),
      order_id: String(order_id),
      line: Number(line),
      unit: Number(unit),
    }),
}

function poolBinding({ item_id, id }: PoolPlace): RowBinding {
  return { column: 'pool_links.link', account_id: '', row_id: `${item_id}/${id}` }
}

function orderBinding({ account_id, order_id, line, unit }: OrderPlace): RowBinding {
  return { column: 'order_links.link', account_id, row_id: `${order_id}/${line}/${unit}` }
}

/** Makes sure that callers get a link they can open. The message never contains the link. */
export function checkLink(link: string, where: string): string {
  const isUsable = link.length <= LINK_LENGTH_MAX && /^https:\/\/[!-~]+$/.test(link) && URL.canParse(link)
  if (!isUsable) {
    throw refuse(
      'invalid_request',
      `${where} is not a link: an absolute https:// URL of at most ${LINK_LENGTH_MAX} characters, without spaces.`,
    )
  }
  return link
}
