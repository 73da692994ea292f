import type { AboutEmulator } from '@shopwire/emulator'
import { Shopwire } from '@shopwire/sdk'
import { EmulatorUnreachable } from '../store/control.ts'
import { App, type AppUrls } from './app.ts'
import type { Priced } from './carts.ts'
import { Emulator } from './emulator.ts'
import { Harness } from './harness.ts'
import { NotRun, Problem } from './problem.ts'
import type { Need, Scenario, ScenarioResult, Verdict } from './scenario.ts'
import { connected } from './scenarios/connected.ts'
import { allScenarios } from './scenarios/index.ts'

export interface GoliveOptions {
  /** The emulator's address, without a path. */
  readonly emulator: string
  readonly urls: AppUrls
  /** The secret of the integrator's endpoint; the emulator signs with it. */
  readonly secret?: string | undefined
  /** The previous secret, if rotation is to be tested. */
  readonly previousSecret?: string | undefined
  /** The emulator's account whose key the integrator's code uses, if not its main account. */
  readonly account?: string | undefined
  /** Only these scenarios. */
  readonly only?: readonly string[] | undefined
  /** The items to buy; by default those on sale. */
  readonly items?: readonly string[] | undefined
  /** How long the integrator's code may take to finish a purchase. */
  readonly patienceMs?: number | undefined
}

export type Progress =
  | {
      readonly kind: 'started'
      readonly id: string
      readonly title: string
      readonly number: number
      readonly count: number
    }
  | {
      readonly kind: 'finished'
      readonly result: ScenarioResult
      readonly number: number
      readonly count: number
    }

export interface GoliveReport {
  readonly ok: boolean
  readonly emulator: string
  readonly started_at: string
  readonly duration_ms: number
  readonly passed: number
  readonly failed: number
  readonly not_run: number
  readonly results: readonly ScenarioResult[]
}

/** The command was called with wrong options. */
export class GoliveUsageError extends Error {
  override name = 'GoliveUsageError'
  /** What to do about it. */
  readonly next: string

  constructor(message: string, next: string) {
    super(message)
    this.next = next
  }
}

const PATIENCE_MS_DEFAULT = 30_000
const BALANCE_CENTS = 1_000_000
/** Expensive items would use up the balance, and free ones cannot have an expected price. */
const PRICE_CENTS_MAX = 5_000
const ITEMS_MAX = 12
const ITEMS_MIN = 3
/** A scenario makes one or two purchases with up to three attempts, and the code may send reads besides. */
const ORDERS_PER_SCENARIO = 3
const REQUESTS_PER_SCENARIO = 10

/** Runs every scenario against the integrator's code, one after the other, and reports progress. */
export async function runGolive(
  options: GoliveOptions,
  report: (progress: Progress) => void = () => undefined,
): Promise<GoliveReport> {
  const started = new Date()
  const passed = new Set<string>()
  const scenarios = choose(allScenarios(passed), options.only)
  const emulator = new Emulator(options.emulator, options.account)
  const about = await emulator.about()
  const harness = await prepare(options, emulator, about, scenarios.length)
  const results: ScenarioResult[] = []
  const count = scenarios.length + 1
  try {
    for (const scenario of [connected(about.base_url), ...scenarios]) {
      const number = results.length + 1
      report({ kind: 'started', id: scenario.id, title: scenario.title, number, count })
      const isOff = results[0]?.verdict === 'failed'
      const result = isOff
        ? resultOf(scenario, 'not_run', 'Not run, because your code did not buy at the emulator.')
        : await runOne(scenario, harness, options)
      if (result.verdict === 'passed') passed.add(scenario.id)
      results.push(result)
      report({ kind: 'finished', result, number, count })
    }
  } finally {
    await tidyUp(options, emulator, about)
  }
  const counted = (verdict: Verdict) => results.filter((result) => result.verdict === verdict).length
  return {
    ok: counted('failed') === 0,
    emulator: options.emulator,
    started_at: started.toISOString(),
    duration_ms: Date.now() - started.getTime(),
    passed: counted('passed'),
    failed: counted('failed'),
    not_run: counted('not_run'),
    results,
  }
}

function choose(scenarios: readonly Scenario[], only: readonly string[] | undefined): readonly Scenario[] {
  const unknown = only?.filter((id) => !scenarios.some((scenario) => scenario.id === id)) ?? []
  if (unknown.length > 0) {
    throw new GoliveUsageError(`There is no scenario ${unknown.join(', ')}.`, '--list shows all scenarios.')
  }
  return only ? scenarios.filter(({ id }) => only.includes(id)) : scenarios
}

async function prepare(
  options: GoliveOptions,
  emulator: Emulator,
  about: AboutEmulator,
  scenarios: number,
): Promise<Harness> {
  const { urls, secret, previousSecret, patienceMs = PATIENCE_MS_DEFAULT } = options
  if (urls.webhook && !secret) {
    throw new GoliveUsageError(
      'Events must be signed with the secret of your webhook endpoint, and none is set.',
      'Set SHOPWIRE_WEBHOOK_SECRET to it, or name its variable with --secret-env.',
    )
  }
  if (urls.state && !urls.state.includes('{purchase}')) {
    throw new GoliveUsageError(
      '--state does not contain {purchase}.',
      'Put {purchase} where the id of the purchase goes.',
    )
  }
  await emulator.disarmAll()
  const shop = new Shopwire({
    keyId: about.key.id,
    secret: about.key.secret,
    baseUrl: about.base_url,
    allowHttp: true,
  })
  await requireRoom(shop, scenarios, about.base_url)
  const items = await chooseItems(shop, options.items)
  await emulator.setBalance(BALANCE_CENTS)
  if (urls.webhook) await emulator.setWebhook(urls.webhook, secret)
  return new Harness({
    emulator,
    app: new App(urls),
    accountId: options.account ?? about.account_id,
    secret,
    previousSecret,
    items,
    patienceMs,
    since: await emulator.last(),
    earlierOrders: new Set((await emulator.orders()).map(({ id }) => id)),
  })
}

/** A run needs higher rate limits than a real store has. */
async function requireRoom(shop: Shopwire, scenarios: number, baseUrl: string): Promise<void> {
  const { response } = await shop.ping().withResponse()
  const policy = response.headers.get('ratelimit-policy') ?? ''
  const quota = (bucket: string) => Number(new RegExp(`"${bucket}";q=(\\d+)`).exec(policy)?.[1] ?? Infinity)
  const hasRoom =
    quota('orders') >= scenarios * ORDERS_PER_SCENARIO && quota('req') >= scenarios * REQUESTS_PER_SCENARIO
  if (hasRoom) return
  throw new GoliveUsageError(
    `The emulator at ${new URL(baseUrl).origin} takes ${quota('req')} requests and ${quota('orders')} orders a minute, and ${scenarios} scenarios need more.`,
    'Start it with higher limits: npx @shopwire/emulator --orders-per-minute 1000 --requests-per-minute 10000\nTo use another emulator, add --emulator URL.',
  )
}

async function chooseItems(shop: Shopwire, wanted: readonly string[] | undefined): Promise<Priced[]> {
  const ids: string[] = []
  for await (const { id, price_cents, sellable } of shop.catalogue.iterate()) {
    const isWanted = wanted ? wanted.includes(id) : price_cents <= PRICE_CENTS_MAX
    if (isWanted && sellable && price_cents > 0) ids.push(id)
    if (ids.length === ITEMS_MAX) break
  }
  if (ids.length < ITEMS_MIN) {
    throw new GoliveUsageError(
      `${ids.length} of the items are on sale at the emulator; ${ITEMS_MIN} are needed.`,
      'Put more on sale, or name others with --items.',
    )
  }
  // The catalogue may be slightly stale, for example after the last run restored prices; a quote never is.
  const { lines } = await shop.quote({ items: ids.map((id) => ({ id })) })
  return lines.map(({ id, unit_price_cents = 0 }) => ({ id, price_cents: unit_price_cents }))
}

async function runOne(scenario: Scenario, harness: Harness, options: GoliveOptions): Promise<ScenarioResult> {
  const lacking = scenario.needs.filter((need) => !has[need](options))
  if (lacking.length > 0) {
    return resultOf(scenario, 'not_run', `It needs ${lacking.map((need) => NEED_TEXTS[need]).join(' and ')}.`)
  }
  const began = performance.now()
  const ms = () => Math.round(performance.now() - began)
  harness.scenario = scenario.id
  try {
    await scenario.run(harness)
    return resultOf(scenario, 'passed', null, ms())
  } catch (error) {
    if (error instanceof Problem) return resultOf(scenario, 'failed', error.message, ms(), error.evidence)
    if (error instanceof NotRun) return resultOf(scenario, 'not_run', error.message, ms())
    throw error
  }
}

const has: Readonly<Record<Need, (options: GoliveOptions) => boolean>> = {
  webhook: ({ urls }) => urls.webhook !== undefined,
  state: ({ urls }) => urls.state !== undefined,
  reconcile: ({ urls }) => urls.reconcile !== undefined,
  previous_secret: ({ previousSecret }) => Boolean(previousSecret),
}

const NEED_TEXTS: Readonly<Record<Need, string>> = {
  webhook: '--webhook URL',
  state: '--state URL',
  reconcile: '--reconcile URL',
  previous_secret: 'SHOPWIRE_WEBHOOK_SECRET_PREVIOUS',
}

function resultOf(
  { id, title, does, means, fix, docs }: Scenario,
  verdict: Verdict,
  reason: string | null,
  duration_ms = 0,
  evidence: readonly string[] = [],
): ScenarioResult {
  return { id, title, verdict, duration_ms, reason, evidence, does, means, fix, docs }
}

/** Restores the emulator's state, except for orders and balance. */
async function tidyUp(
  { urls, account }: GoliveOptions,
  emulator: Emulator,
  about: AboutEmulator,
): Promise<void> {
  if (!urls.webhook) return
  try {
    if (about.webhook && account === undefined)
      await emulator.setWebhook(about.webhook.url, about.webhook.secret)
    else await emulator.setWebhook(null)
  } catch (error) {
    // The emulator is gone; the error that ended the run reports it.
    if (!(error instanceof EmulatorUnreachable)) throw error
  }
}
