import { Shopwire } from '@shopwire/sdk'
import { acceptInvitation, newPerson, type Person, waitForShell } from '@shopwire/test-kit/people/person'
import type { World } from '@shopwire/test-kit/people/world'
import { linkIn } from '@shopwire/test-kit/receivers/mail-sink'
import { type Item, newItem, newLinks } from '@shopwire/test-kit/systems'
import type { Page } from 'playwright-core'

/** Would make elements, and run, if it were taken for anything but text. */
const SCRIPT = `<script>window.hostile=1</script><img src=x onerror="window.hostile=1" data-hostile>`
/** Text that runs from right to left, and pictures of several code points. */
const MIXED = '\u{1F469}\u{1F3FD}\u200D\u{1F680} שלום مرحبا'
/** Turns the direction of everything after it; the service refuses it in names that people type. */
const OVERRIDE = '\u202Egnihtyna'

const ACCOUNT = `${SCRIPT} ${MIXED}`.slice(0, 100)
const PERSON = `${MIXED} ${SCRIPT}`.slice(0, 100)
const KEY = `${SCRIPT.slice(0, 28)} ${MIXED} ${'x'.repeat(60)}`.slice(0, 100)
const LONG = `${SCRIPT} ${MIXED} ${'Donaudampfschifffahrtsgesellschaft'.repeat(4)}`.slice(0, 200)
/** The most that can be booked at once. */
const HUGE = '100000000.00'
/** Two items, four each: nearly as much as one order may cost. */
const PRICE_CENTS = 62_499
const QTY = 4

/** An account whose every text tries to be something else, and whose numbers are as large as they can be. */
export async function makeHostileAccount(world: World): Promise<Person> {
  const { system } = world
  const { id: account_id } = await system.admin('accounts', 'create', ACCOUNT)
  const owner = await join(world, account_id, 'Hostile owner', 'owner')
  await join(world, account_id, 'Hostile viewer', 'viewer').then(({ context }) => context.close())
  await system.admin(
    'people',
    'invite',
    account_id,
    '--email',
    `${'a'.repeat(60)}@${'b'.repeat(60)}.example`,
    '--role',
    'finance',
  )
  await system.admin('accounts', 'fund', account_id, HUGE, '--reference', LONG, '--note', LONG)

  const pooled: readonly Item[] = [
    { ...newItem(PRICE_CENTS), name: LONG, collection: LONG },
    { ...newItem(PRICE_CENTS), name: `${OVERRIDE} ${SCRIPT}`, collection: MIXED },
  ]
  /** Delivered by hand, so its orders stay paid. */
  const handmade: Item = { ...newItem(PRICE_CENTS), name: `${MIXED} ${LONG}`.slice(0, 200), collection: LONG }
  await system.importItems([...pooled, handmade])
  const scopes = ['account:read', 'catalogue:read', 'orders:read', 'orders:write']
  const { key, secret } = await act(owner.page, '/api/keys/create', { name: KEY, scopes })
  await act(owner.page, '/api/keys/rotate', { id: key.id })
  await act(owner.page, '/api/tokens/create', {
    name: KEY,
    rights: ['events:listen'],
    with_links: false,
    days: 30,
  })
  await act(owner.page, '/api/webhook/set', { url: `https://93.184.216.34/${'long-path/'.repeat(40)}` })

  const shop = new Shopwire({ baseUrl: `http://127.0.0.1:${system.ports[0]}/v1`, keyId: key.id, secret })
  const buy = (n: number, items: readonly Item[]) =>
    shop.orders.create({
      items: items.map(({ id }) => ({ id, qty: QTY })),
      idempotencyKey: `${n}-${'k'.repeat(90)}`,
    })
  for (const { id } of pooled) await system.loadPool(id, newLinks(QTY))
  await shop.orders.wait((await buy(1, pooled)).id)
  await system.admin('orders', 'cancel', (await buy(2, [handmade])).id, '--reason', LONG)
  await buy(3, [handmade])
  return owner
}

/** What is on the page of a hostile text: itself, and nothing that it made. */
export async function hostileFindings(page: Page): Promise<readonly string[]> {
  const { isRun, made, text } = await page.evaluate<{ isRun: boolean; made: number; text: string }>(
    "({ isRun: 'hostile' in window, made: document.querySelectorAll('[data-hostile], img[src=x], body script:not([src])').length, text: document.body.textContent })",
  )
  return [
    ...(isRun ? ['a text was run'] : []),
    ...(made > 0 ? [`a text made ${made} elements`] : []),
    ...(text.includes('<script>window.hostile=1</script>')
      ? []
      : ['the name of the account is not shown as it is']),
  ]
}

async function join(world: World, account_id: string, name: string, role: string): Promise<Person> {
  const person = { ...(await newPerson(world, 'mouse', name)), name: PERSON }
  await world.system.admin('people', 'invite', account_id, '--email', person.email, '--role', role)
  await acceptInvitation(person, linkIn(await world.mail.next(person.email, /invit/i)), ACCOUNT)
  await person.press(person.button('Add a passkey'))
  await waitForShell(person.page)
  return person
}

/** As the application does it. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the route answers.
export function act(page: Page, path: string, body: object): Promise<any> {
  return page.evaluate(`(async () => {
    const { csrf_token, account } = await (await fetch('/api/session')).json()
    const headers = {
      'content-type': 'application/json',
      'x-shopwire-csrf': csrf_token,
      'x-shopwire-account': account.id,
    }
    const answer = await fetch(${JSON.stringify(path)}, { method: 'POST', headers, body: ${JSON.stringify(JSON.stringify(body))} })
    if (!answer.ok) throw new Error(${JSON.stringify(path)} + ': ' + (await answer.text()))
    return answer.json()
  })()`)
}
