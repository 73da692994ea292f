import { readFile } from 'node:fs/promises'
import { openPastStore, type PastStore } from '@shopwire/service/past-store'
import { createAgenda } from './agenda.ts'
import { LANTERN, tellLanternGames } from './lantern-games.ts'
import { KESTREL, QUIET_HARBOR, tellKestrel, tellQuietHarbor } from './other-accounts.ts'
import { addTotp, type PersonMade, type PersonName, type SignedUp } from './people.ts'
import { createRandom } from './random.ts'
import { answerOf, createStock, DAY, type DemoItem, isByHand, MINUTE, type World } from './world.ts'

export interface HistoryOptions {
  /** The settings of the store, whose database is migrated and empty. SHOPWIRE_ENV has to be development. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly apiUrl: string
  readonly workerUrl: string
  /** The same seed makes the same history, but for ids and secrets. */
  readonly seed: number
  /** The present. */
  readonly endMs: number
  /** How much is bought: 1 by default, less for a store that is made faster. */
  readonly pace?: number
  /** Where the two accounts with a webhook receive theirs. */
  readonly webhookUrls: { readonly lantern: string; readonly kestrel: string }
  /** Called after each day, with the share that is done. */
  onProgress?(share: number): void
}

export interface DemoHistory {
  readonly accounts: readonly string[]
  readonly people: readonly PersonMade[]
}

const ACTOR = 'demo'
const WITH_TOTP = ['developer', 'owner', 'finance', 'viewer', 'neighbour'] as const satisfies PersonName[]
/** After the newcomer's account was made. */
const NEWCOMER_TOTP_MS = 90 * MINUTE
const MAIL_KEPT_MS = 3 * DAY

/** Months of a store that never were: three accounts, their people, orders, money and events. */
export async function makeHistory(options: HistoryOptions): Promise<DemoHistory> {
  const { env, apiUrl, workerUrl, seed, endMs, webhookUrls, pace = 1 } = options
  const file = new URL('./catalogue.json', import.meta.url)
  const items = JSON.parse(await readFile(file, 'utf8')) as DemoItem[]
  const random = createRandom(seed)
  const receivers: World['receivers'] = new Map()
  const store: PastStore = await openPastStore({
    env,
    apiUrl,
    workerUrl,
    actor: ACTOR,
    random: random.next,
    openClient: (account_id) => ({
      post: async () => {
        const receiver = receivers.get(account_id) ?? (() => ({ status: 200, ms: 40 }))
        return answerOf(receiver, store, random)
      },
      close: async () => {},
    }),
  })
  try {
    const agenda = createAgenda()
    const stock = createStock(() => store)
    const world: World = { store, agenda, random, pace, endMs, items, stock, receivers }
    const signedUp = new Map<PersonName, SignedUp>()
    const firstMs = Math.floor((endMs - (LANTERN.days + 1) * DAY) / DAY) * DAY
    await store.keepRecordsSince(new Date(firstMs))
    agenda.at(firstMs, async () => {
      await store.importItems(items.filter(({ collection }) => collection !== 'Greenhouse'))
      for (const item of items.filter(({ collection }) => collection !== 'Greenhouse'))
        if (!isByHand(item)) await stock.take(item.id, 0)
    })
    tellLanternGames(world, { webhookUrl: webhookUrls.lantern, signedUp })
    tellKestrel(world, { webhookUrl: webhookUrls.kestrel, signedUp })
    tellQuietHarbor(world, signedUp)
    for (const [n, who] of WITH_TOTP.entries())
      agenda.at(endMs - 3 * DAY + n * 87 * MINUTE, () => addTotp(store, signedUp.get(who) as SignedUp))
    agenda.at(endMs - NEWCOMER_TOTP_MS, () => addTotp(store, signedUp.get('newcomer') as SignedUp))
    for (let dayMs = firstMs; dayMs < endMs; dayMs += DAY) {
      await runUntil(world, Math.min(dayMs + DAY, endMs))
      await store.flush()
      options.onProgress?.((dayMs + DAY - firstMs) / (endMs - firstMs + DAY))
    }
    await store.dropMail(new Date(endMs - MAIL_KEPT_MS))
    return {
      accounts: [LANTERN.name, KESTREL.name, QUIET_HARBOR.name],
      people: [...signedUp].map(([who, { id, person, totp_secret }]) => ({
        who,
        id,
        name: person.name,
        email: person.email,
        totp_secret,
      })),
    }
  } finally {
    await store.close()
  }
}

async function runUntil({ store, agenda }: World, untilMs: number): Promise<void> {
  for (let step = agenda.take(untilMs); step; step = agenda.take(untilMs)) {
    store.setTime(step.ms)
    await step.run()
  }
}
