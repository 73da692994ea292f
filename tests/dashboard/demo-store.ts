import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { totpCode } from '@shopwire/test-kit/people/authenticator'
import { newPerson, type Person, signInWithPassword } from '@shopwire/test-kit/people/person'
import type { World } from '@shopwire/test-kit/people/world'
import type { System } from '@shopwire/test-kit/systems'

const PROGRAM = fileURLToPath(new URL('../../tools/demo/make.ts', import.meta.url))
/** A tenth of the orders tells the same story, in a tenth of the time. */
const PACE = '0.1'
const CODE_MS = 30_000

/** What `npm run dev` shows: three accounts with their people. */
export interface DemoStore {
  readonly password: string
  readonly people: readonly { readonly who: string; readonly email: string; readonly totp_secret: string }[]
}

/** Before a worker runs: it would do what the history has yet to tell. */
export async function makeDemoStore(system: System): Promise<DemoStore> {
  const { ownerUrl, processUrls } = system.database
  const env = {
    ...process.env,
    ...system.settingsOf('operator'),
    SHOPWIRE_DATABASE_OWNER_URL: ownerUrl,
    SHOPWIRE_DASHBOARD_DATABASE_URL: processUrls.dashboard,
    DEMO_API_DATABASE_URL: processUrls.api,
    DEMO_WORKER_DATABASE_URL: processUrls.worker,
  }
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, '--pace', PACE], { env })
  return JSON.parse(stdout) as DemoStore
}

export async function signInAs(world: World, { people, password }: DemoStore, who: string): Promise<Person> {
  const found = people.find((one) => one.who === who)
  if (!found) throw new Error(`the demo has nobody called ${who}`)
  const person: Person = {
    ...(await newPerson(world, 'mouse', who)),
    email: found.email,
    password,
    // The code of now may be the one that set up the app, and each works once.
    newCode: () => totpCode(found.totp_secret, Date.now() + CODE_MS),
  }
  await person.page.goto('/')
  await signInWithPassword(person)
  return person
}
