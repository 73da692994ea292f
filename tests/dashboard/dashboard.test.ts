import { readFile } from 'node:fs/promises'
import { Shopwire } from '@shopwire/sdk'
import { hands } from '@shopwire/test-kit/people/actor'
import {
  acceptInvitation,
  confirmWithPasskey,
  newPerson,
  type Person,
  signInWithPassword,
  signOut,
  waitForShell,
} from '@shopwire/test-kit/people/person'
import { openWorld, type World } from '@shopwire/test-kit/people/world'
import { linkIn } from '@shopwire/test-kit/receivers/mail-sink'
import { type StripeServer, startStripe } from '@shopwire/test-kit/receivers/stripe'
import {
  type Answering,
  type PublicReceiver,
  startPublicReceiver,
} from '@shopwire/test-kit/receivers/webhook-receiver'
import { until } from '@shopwire/test-kit/servers'
import { makeDue, newItem, newLinks, START_MS_MAX } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'
import { createScreenChecks } from './screen-checks.ts'

/** What customers do in the dashboard, each by mouse and by keyboard alone, in a browser against the whole store. */
const GIVEN_UP_MS_MAX = 60_000

let world: World
let stripe: StripeServer
let receivers: PublicReceiver
/** As a careful receiver does. */
const ifGenuine: Answering = ({ arrival, response }) =>
  response.writeHead(arrival.isGenuine ? 204 : 401).end()
const screens = createScreenChecks()
const goods = { mouse: [newItem(4_99), newItem(1_99)], keyboard: [newItem(4_99), newItem(1_99)] } as const

beforeAll(async () => {
  ;[stripe, receivers] = await Promise.all([startStripe(), startPublicReceiver()])
  world = await openWorld({
    settings: {
      ...receivers.settings,
      SHOPWIRE_BANK_DETAILS: 'Beneficiary=Example Ltd; IBAN=GB33BUKB20201555555555; BIC=BUKBGB22',
      SHOPWIRE_STRIPE_SECRET_KEY: 'sk_test_0123456789',
      SHOPWIRE_STRIPE_WEBHOOK_SECRETS: stripe.secret(),
      SHOPWIRE_STRIPE_API_URL: stripe.url,
    },
  })
  // At once and before there is an endpoint: the catalogue's own event must not come between those that are counted.
  await world.system.importItems([...goods.mouse, ...goods.keyboard])
  stripe.sendTo(`http://127.0.0.1:${world.dashboard.port}/payments/stripe`)
}, START_MS_MAX)
afterAll(async () => {
  await world?.stop()
  await Promise.all([stripe?.close(), receivers?.close()])
})

// What works with the keyboard alone rarely fails with the mouse.
describe.each(IS_SHORT ? (['keyboard'] as const) : hands)('with the %s', (how) => {
  const account = `Acme by ${how}`
  let account_id: string
  let owner: Person
  let shop: Shopwire
  /** The first is given links, the other is delivered by hand: its orders stay paid. */
  const [item, handmade] = goods[how]

  test('an invitation leads to a second factor, and both factors sign in', async () => {
    account_id = (await world.system.admin('accounts', 'create', account)).id
    owner = await newPerson(world, how, `Olga ${how}`)
    await world.system.admin('people', 'invite', account_id, '--email', owner.email, '--role', 'owner')
    const mail = await world.mail.next(owner.email, /invit/i)
    await owner.page.goto(linkIn(mail))
    await owner.field('Your name').waitFor()
    await screens.check(owner.page, 'invitation')
    await acceptInvitation(owner, linkIn(mail), account)
    await screens.check(owner.page, 'second factor')

    // One begins with the passkey, the other with the app; the other factor is added afterwards.
    if (how === 'mouse') await owner.press(owner.button('Add a passkey'))
    else {
      await owner.press(owner.button('Use an app'))
      await setUpApp(owner)
    }
    await waitForShell(owner.page)
    await owner.goTo('Security')
    if (how === 'mouse') {
      await owner.press(owner.button('Set up…'))
      await owner.write(owner.page.getByLabel('Your password', { exact: true }), owner.password)
      await owner.press(owner.button('Next'))
      await setUpApp(owner)
    } else {
      await owner.press(owner.button('Add a passkey…'))
      await owner.press(owner.button('Add passkey'))
    }
    await owner.button('Remove the authenticator app').waitFor()
    await owner.button(/^Actions for /).waitFor()
    await screens.check(owner.page, 'security')

    await signOut(owner)
    await screens.check(owner.page, 'sign-in')
    await owner.press(owner.button('Sign in with a passkey'))
    await waitForShell(owner.page)
    await signOut(owner)
    await signInWithPassword(owner)
  })

  test('the first key is made after a second factor, and its secret works at once with the SDK', async () => {
    const { page, press, write, choose, button, field, heading } = owner
    await startAt('API keys')
    await heading('No API key yet').or(page.getByText('No API key yet')).first().waitFor()
    await screens.check(page, 'keys, none')
    await forgetFactor()
    await press(button('Create key').first())
    await write(field('Name'), 'checkout-eu')
    await choose(page.getByRole('radio', { name: 'Full' }))
    await screens.check(page, 'key dialog')
    await press(page.getByRole('dialog').getByRole('button', { name: 'Create key' }))
    await confirmWithPasskey(owner)
    await heading('Key “checkout-eu” is live').waitFor()
    const keyId = await field('Key id').inputValue()
    const secret = await field('Secret').inputValue()
    await screens.check(page, 'secret')
    shop = new Shopwire({ baseUrl: `http://127.0.0.1:${world.system.ports[0]}/v1`, keyId, secret })
    expect(await shop.balance()).toMatchObject({ balance_cents: 0 })
    await choose(page.getByRole('checkbox', { name: 'I stored the secret on my server' }))
    await press(button('Done'))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /checkout-eu/ }).waitFor()
    await screens.check(page, 'keys')
    expect(await page.content()).not.toContain(secret)
    await page.reload()
    await page.getByRole('row', { name: /checkout-eu/ }).waitFor()
    expect(await page.content()).not.toContain(secret)
    await world.mail.next(owner.email, /key/i)
  })

  test.skipIf(IS_SHORT)(
    'money arrives by bank transfer and by card, and the balance grows without a reload',
    async () => {
      const { page, press, write, choose, button, field } = owner
      await startAt('Balance')
      await screens.check(page, 'balance, empty')
      await addFunds('Bank transfer', '250.00')
      await owner.heading('Transfer $250.00').waitFor()
      const line = page.getByRole('definition').filter({ has: button('Copy reference') })
      const reference = ((await line.textContent()) ?? '').replaceAll(' ', '')
      await screens.check(page, 'bank transfer')
      await press(button('Done'))
      await expectLive(async () => {
        await world.system.admin(
          'topups',
          'confirm',
          reference,
          '--amount',
          '250.00',
          '--reference',
          `wire-${how}`,
        )
      }, 250_00)

      await addFunds('Card', '100.00')
      await page.getByRole('heading', { name: 'Pay $100.00' }).waitFor()
      await press(page.getByRole('button', { name: 'Pay now' }))
      await page.getByText('$100.00 added').waitFor()
      await available().filter({ hasText: '$350.00' }).waitFor()
      expect(await shop.balance()).toMatchObject({ balance_cents: 350_00 })
      await screens.check(page, 'balance')
      await press(button('Dismiss'))

      async function addFunds(way: string, amount: string) {
        await press(button('Add funds').first())
        await write(field('Amount'), amount)
        await choose(page.getByRole('radio', { name: way }))
        await screens.check(page, 'add funds')
        await press(button('Continue'))
        await screens.check(page, 'add funds, confirm')
        await press(button(`Add $${amount}`))
      }
    },
  )

  test('an order is seen to become delivered without a reload, and its link is shown after a second factor', async () => {
    const { page, press, button, heading } = owner
    // What the journey before brings in the full form.
    if (IS_SHORT) await world.system.fund(account_id, 350_00)
    const order = await shop.orders.create({ items: [{ id: item.id }], idempotencyKey: `watched-by-${how}` })
    await startAt('Orders')
    await screens.check(page, 'orders')
    await press(page.getByRole('link', { name: new RegExp(order.id.slice(-6)) }).first())
    await heading('$4.99, waiting for its links').waitFor()
    await screens.check(page, 'order, paid')
    await markPage()
    const [link = ''] = newLinks(1)
    await world.system.loadPool(item.id, [link])
    await heading(/^\$4\.99, delivered/).waitFor()
    await expectMark()

    await forgetFactor()
    await press(button('Reveal link 1'))
    await confirmWithPasskey(owner)
    await page.getByText(link, { exact: true }).waitFor()
    await screens.check(page, 'order, delivered')
    expect((await shop.orders.get(order.id)).links).toEqual([link])
    expect(await page.getByRole('link', { name: link }).count()).toBe(0)
    await press(button('Hide link 1'))
    await page.getByText(link, { exact: true }).waitFor({ state: 'detached' })
    await expectMark()
    const rows = await world.system.query(
      `select action || ' ' || details from audit_log where account_id = '${account_id}' and target like '%${order.id}%'`,
    )
    expect(rows).toMatch(/reveal/)
    expect(rows).not.toContain(link)

    await owner.goTo('Audit log')
    await page
      .getByRole('row', { name: /reveal/i })
      .first()
      .waitFor()
    await screens.check(page, 'audit log')
    expect(await page.content()).not.toContain(link)
  })

  test.skipIf(IS_SHORT)(
    'events that a broken receiver refused are recovered once each, and a rotated secret loses none',
    async () => {
      const { page, press, write, choose, button, field, heading } = owner
      const receiver = receivers.open(how)
      receiver.answers(ifGenuine)
      await untilAnnounced()
      await startAt('Webhook')
      await screens.check(page, 'webhook, none')
      await forgetFactor()
      await write(field('Webhook URL'), receiver.url)
      await press(button('Set URL'))
      const learned = page.waitForResponse(/\/api\/webhook$/)
      await confirmWithPasskey(owner)
      await heading('Store the signing secret').waitFor()
      // The page learns of the new URL meanwhile; what is shown once must stay until it is stored.
      await learned
      receiver.setSecrets(await field('Signing secret').inputValue())
      await screens.check(page, 'webhook secret')
      await storeSecret()
      await press(button('Send test'))
      await page.getByText(/^Accepted with 204/).waitFor()
      await screens.check(page, 'webhook')

      receiver.answersWith(503)
      const orders = []
      for (let n = 1; n <= 3; n += 1)
        orders.push(
          await shop.orders.create({ items: [{ id: handmade.id }], idempotencyKey: `refused-${how}-${n}` }),
        )
      await untilGivenUp(orders.length)
      receiver.answers(ifGenuine)
      const refusals = receiver.arrivals.filter(({ status }) => status === 503)
      const refused = [...new Set(refusals.map(({ id }) => id))]
      expect(refused).toHaveLength(orders.length)
      await page.goto('/')
      // The number beside the entry is not part of its name.
      const rail = page.getByRole('navigation', { name: 'Main' })
      await rail.getByText(String(orders.length), { exact: true }).waitFor()
      await owner.goTo('Deliveries')
      await page
        .getByRole('row', { name: /Failed/ })
        .first()
        .waitFor()
      await screens.check(page, 'deliveries')
      // Those that were refused, and those of orders from before there was a URL.
      const missed = await neverAccepted()
      expect(missed).toEqual(expect.arrayContaining(refused))
      await press(button('Recover failed…'))
      await button(`Send ${refused.length} events`).waitFor()
      await page.getByRole('radio', { name: 'A period' }).check()
      await button(`Send ${missed.length} events`).waitFor()
      await screens.check(page, 'recover')
      const before = receiver.arrivals.length
      await press(button(`Send ${missed.length} events`))
      await page.getByText(`${missed.length} events are on the way`).waitFor()
      await expect.poll(() => receiver.arrivals.length).toBeGreaterThanOrEqual(before + missed.length)
      expect(
        receiver.arrivals
          .slice(before)
          .map(({ id, status }) => `${id} ${status}`)
          .sort(),
      ).toEqual(missed.map((id) => `${id} 204`))
      expect(await neverAccepted()).toEqual([])

      // Orders go on before, while and after the secret is rotated; the receiver switches when its owner has stored the new one.
      await owner.goTo('Webhook')
      const rotatedFrom = receiver.arrivals.length
      await forgetFactor()
      await buy(1)
      await press(button('Rotate secret…'))
      await press(button('Rotate secret'))
      await Promise.all([confirmWithPasskey(owner), buy(3)])
      await heading('Store the new signing secret').waitFor()
      await buy(2)
      receiver.setSecrets(await field('Signing secret').inputValue())
      await buy(2)
      await storeSecret()
      await page.getByText('Two secrets sign every event').waitFor()
      await screens.check(page, 'webhook, two secrets')
      expect(receiver.arrivals.slice(rotatedFrom).filter(({ status }) => status !== 204)).toEqual([])
      const accepted = receiver.arrivals.filter(({ status }) => status === 204).map(({ id }) => id)
      expect(accepted).toHaveLength(new Set(accepted).size)

      async function storeSecret() {
        await choose(page.getByRole('checkbox', { name: 'I stored the secret on my server' }))
        await press(button('Done'))
      }

      /** Buys so many, one after the other, each when the event of the one before has arrived. */
      async function buy(count: number) {
        for (let n = 1; n <= count; n += 1) {
          const arrived = receiver.arrivals.length
          await shop.orders.create({
            items: [{ id: handmade.id }],
            idempotencyKey: `rotated-${how}-${arrived}`,
          })
          await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(arrived)
        }
      }
    },
  )

  test.skipIf(IS_SHORT)(
    'filters become a view that is deleted and brought back, and selected events are sent again together',
    async () => {
      const { page, press, write, choose, button, field } = owner
      const item = (name: string) => page.getByRole('menuitem', { name })
      await startAt('Deliveries')
      await press(button('Filter by state'))
      await choose(page.getByRole('radio', { name: 'Accepted' }))
      await press(button('Views'))
      await press(item('Save these filters…'))
      await write(field('Name'), 'Accepted ones')
      await screens.check(page, 'save view')
      await press(button('Save view'))
      await page.getByText('View “Accepted ones” saved').waitFor()
      await press(button('Clear'))
      await press(button('Views'))
      await press(item('Accepted ones'))
      await page.waitForURL(/\?state=accepted$/)
      await press(button('Views, shown is Accepted ones'))
      await press(item('Rename or delete…'))
      await screens.check(page, 'views')
      await press(button('Delete Accepted ones'))
      await page.getByText('View “Accepted ones” deleted').waitFor()
      await button('Views').waitFor()
      // The one before offers it too.
      await press(button('Undo').last())
      await button('Views, shown is Accepted ones').waitFor()

      const boxes = page.getByRole('checkbox', { name: /^Select evt_/ })
      await choose(boxes.nth(0))
      await choose(boxes.nth(1))
      await screens.check(page, 'deliveries, selected')
      await press(button('Resend 2 events…'))
      await screens.check(page, 'resend several')
      await press(button('Resend 2 events'))
      await page.getByText('2 events are on the way again').waitFor()
      await page.getByRole('region', { name: 'Selection' }).waitFor({ state: 'detached' })
      const sent = `select details -> 'after' ->> 'events' from audit_log where account_id = '${account_id}' and action = 'webhook.resend_several'`
      expect(await world.system.query(sent)).toBe('2')
    },
  )

  test('the statement of the month equals the balance and the transfers', async () => {
    const { page, press } = owner
    await startAt('Balance')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      press(page.getByRole('link', { name: 'Export CSV' })),
    ])
    const [, ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
    const rows = lines.map((line) => line.split(','))
    const transfers = await world.system.query(
      `select seq || '|' || change_cents || '|' || balance_after_cents
         from transfers where account_id = '${account_id}' order by seq`,
    )
    const cents = (text: string | undefined) => Math.round(Number(text) * 100)
    expect(rows.map((row) => [row[0], cents(row[3]), cents(row[5])].join('|')).join('\n')).toBe(transfers)
    expect(cents(rows.at(-1)?.[5])).toBe((await shop.balance()).balance_cents)
  })

  test.skipIf(IS_SHORT)('a member who is removed while a page is open is out within a second', async () => {
    const { page, press, write, choose, button, field } = owner
    const member = await newPerson(world, how, `Vera ${how}`)
    await startAt('Team')
    await forgetFactor()
    await press(button('Invite…'))
    await write(field('E-mail'), member.email)
    await choose(page.getByRole('radio', { name: 'Viewer' }))
    await screens.check(page, 'invite')
    await press(button('Send invitation'))
    await confirmWithPasskey(owner)
    await page.getByText(`Invitation sent to ${member.email}`).waitFor()
    await acceptInvitation(member, linkIn(await world.mail.next(member.email, /invit/i)), account)
    await member.press(member.button('Add a passkey'))
    await waitForShell(member.page)
    await member.goTo('Balance')
    await member.page.getByText('Available now').first().waitFor()
    await screens.check(member.page, 'balance of a viewer')

    await button(`Actions for ${member.name}`).waitFor()
    await screens.check(page, 'team')
    await press(button(`Actions for ${member.name}`))
    await press(page.getByRole('menuitem', { name: 'Remove…' }))
    await screens.check(page, 'remove')
    const answered = page.waitForResponse(/\/api\/team\/remove$/)
    // Awaited from before, so that only the way of the news is measured.
    const gone = member.page
      .getByText('Available now')
      .first()
      .waitFor({ state: 'detached' })
      .then(() => Date.now())
    await press(button('Remove person'))
    expect((await answered).status()).toBe(200)
    const removedMs = Date.now()
    const next = await member.page.evaluate<number>("fetch('/api/balance').then(({ status }) => status)")
    expect(next).toBe(403)
    expect((await gone) - removedMs).toBeLessThan(1_000)
    // Still the same person, who may belong to other accounts; here to none.
    await member.heading(`You are no longer in ${account}`).waitFor()
    await member.page.getByText('To come back, ask an Owner for an invitation.').waitFor()
    await screens.check(member.page, 'no account')
    await member.page.reload()
    await member.heading('You are in no account').waitFor()
    await member.press(member.page.getByRole('main').getByRole('button', { name: 'Sign out' }))
    await member.heading('Sign in').waitFor()
    await member.context.close()
  })

  /** Whatever the journey before has left open is gone. */
  async function startAt(place: string) {
    await owner.page.goto('/')
    await waitForShell(owner.page)
    await owner.goTo(place)
  }

  const available = () => owner.page.getByRole('region', { name: 'Available now' })

  /** A reload would lose it. */
  const markPage = () => owner.page.evaluate("document.body.dataset.mark = 'not reloaded'")
  const expectMark = async () =>
    expect(await owner.page.evaluate('document.body.dataset.mark')).toBe('not reloaded')

  /**
   * Changes of the catalogue are announced once a minute. One that waits for its minute, such as that an item was sold out, would arrive
   * among the events that are counted.
   */
  async function untilAnnounced() {
    await world.system.query(`update catalogue_announcement set begun_at = begun_at - interval '1 minute'`)
    const left = `select s.revision - a.revision from catalogue_state s, catalogue_announcement a`
    await expect.poll(() => world.system.query(left)).toBe('0')
  }

  /** Lets the hours between attempts pass at once, until so many events are given up. */
  async function untilGivenUp(count: number) {
    await until(
      async () => {
        await makeDue(world.system, account_id)
        const failed = `select count(*) from deliveries where account_id = '${account_id}' and state = 'failed'`
        return (await world.system.query(failed)) === String(count)
      },
      GIVEN_UP_MS_MAX,
      () => 'the refused events are not given up',
    )
  }

  /** The ids of the account's events that no receiver has accepted, in order. */
  async function neverAccepted(): Promise<string[]> {
    const ids = await world.system.query(
      `select id from events e
        where account_id = '${account_id}'
          and not exists (select from deliveries d
                           where d.account_id = e.account_id and d.event_id = e.id and d.state = 'delivered')
        order by id`,
    )
    return ids.split('\n').filter((id) => id !== '')
  }

  /** Does something, and sees the balance become this much on the page that is open. */
  async function expectLive(act: () => Promise<void>, cents: number) {
    await markPage()
    await act()
    await available()
      .filter({ hasText: `$${(cents / 100).toFixed(2)}` })
      .waitFor()
    await expectMark()
  }

  /** As if the last second factor had been given six minutes ago. */
  const forgetFactor = () =>
    world.system.query(
      `update sessions set stepped_up_at = stepped_up_at - interval '6 minutes' where account_id = '${account_id}'`,
    )
})

test('no page was stopped by its policy, and every screen is accessible in both themes and fits into 320 px', () => {
  expect(world.complaints).toEqual([])
  expect(screens.problems).toEqual([])
})

/** The secret of the page goes into the app; its code and a tick at the recovery codes end it. */
async function setUpApp(person: Person): Promise<void> {
  const { page, write, choose, press, field, button } = person
  const shown = page.getByText('Cannot scan? Type this secret instead')
  person.setUpApp(((await shown.textContent()) ?? '').match(/[A-Z2-7]{16,}/)?.[0] ?? '')
  await screens.check(page, 'authenticator app')
  await write(field('Six-digit code'), person.newCode())
  const codes = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
  await codes.first().waitFor()
  expect(new Set(await codes.allTextContents()).size).toBe(10)
  await screens.check(page, 'recovery codes')
  await choose(page.getByRole('checkbox', { name: 'I stored the recovery codes' }))
  await press(button('Done'))
}
