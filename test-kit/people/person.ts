import type { Locator, Page } from 'playwright-core'
import { type Actor, createActor, type Hands } from './actor.ts'
import { addAuthenticator, totpCode } from './authenticator.ts'
import type { Visitor, World } from './world.ts'

const CODE_MS = 30_000
const PASSWORD = 'a sentence that nobody guesses 4'

/** Somebody with a browser, a mailbox, a passkey and an authenticator app. */
export interface Person extends Actor, Visitor {
  readonly email: string
  readonly name: string
  readonly password: string
  /** What the app shows; never the same code twice, because each works once. */
  newCode(): string
  /** Types the secret of the page into the app. */
  setUpApp(secret: string): void
  button(name: string | RegExp): Locator
  heading(name: string | RegExp): Locator
  field(name: string | RegExp): Locator
  /** By the rail, from anywhere. */
  goTo(name: string): Promise<void>
}

export async function newPerson(world: World, how: Hands, name: string): Promise<Person> {
  const visitor = await world.newVisitor()
  const { context, page } = visitor
  await addAuthenticator(context, page)
  const actor = createActor(page, how)
  const button = (label: string | RegExp) => page.getByRole('button', exactly(label))
  const heading = (label: string | RegExp) => page.getByRole('heading', exactly(label))
  let secret = ''
  let lastStep = 0
  return {
    ...visitor,
    ...actor,
    email: `${name.toLowerCase().replaceAll(' ', '.')}@example.com`,
    name,
    password: PASSWORD,
    button,
    heading,
    field: (label) =>
      page
        .getByRole('textbox', exactly(label))
        .or(page.getByLabel(label, { exact: true }))
        .first(),
    setUpApp(shown) {
      secret = shown
    },
    newCode() {
      // A code of the next step is accepted too, as clocks differ.
      const now = Math.floor(Date.now() / CODE_MS)
      lastStep = Math.max(now, lastStep + 1)
      if (lastStep > now + 1) throw new Error('the app has no fresh code for now')
      return totpCode(secret, lastStep * CODE_MS)
    },
    async goTo(label) {
      const link = page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: label, exact: true })
      await actor.press(link)
      await link.and(page.locator('[aria-current=page]')).waitFor()
      await page.getByRole('heading', { level: 1 }).waitFor()
    },
  }
}

const exactly = (name: string | RegExp) => ({ name, ...(typeof name === 'string' && { exact: true }) })

/** From the mail to the choice of a second factor. */
export async function acceptInvitation(person: Person, link: string, account: string): Promise<void> {
  const { page, write, press, field, button, heading } = person
  await page.goto(link)
  await heading(`Join ${account}`).waitFor()
  await write(field('Your name'), person.name)
  await write(page.getByLabel('Password', { exact: true }), person.password)
  await press(button(`Join ${account}`))
  await heading('Set up a second factor').waitFor()
}

export async function signOut({ page, press }: Pick<Person, 'page' | 'press'>): Promise<void> {
  await press(page.getByRole('button', { name: /Switch account$/ }))
  await press(page.getByRole('menuitem', { name: 'Sign out' }))
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

export async function signInWithPassword(person: Person): Promise<void> {
  const { page, write, press, field, button, heading } = person
  await write(field('E-mail'), person.email)
  await write(page.getByLabel('Password', { exact: true }), person.password)
  await press(button('Sign in'))
  await heading('Second factor').waitFor()
  await write(field('Six-digit code'), person.newCode())
  await waitForShell(page)
}

export const waitForShell = (page: Page): Promise<void> =>
  page.getByRole('navigation', { name: 'Main' }).waitFor()

/** Asked whenever a second factor was given too long ago. */
export async function confirmWithPasskey({ press, button, heading }: Person): Promise<void> {
  await heading('Confirm that it is you').waitFor()
  await press(button('Confirm with a passkey'))
  await heading('Confirm that it is you').waitFor({ state: 'detached' })
}
