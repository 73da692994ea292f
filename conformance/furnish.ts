import { dollars, newLinks, type Operator as StoreOperator } from '@shopwire/test-kit/systems'
import { type Fixtures, type Key, type Operator, type Scope, scopes } from './fixtures.ts'

const BUYERS = 18
const LINKS = 400
const OPENING_CENTS = 2_000_000
const STOCKED_ITEM = itemId(8)

/** Gives an empty store everything that the checks need but a receiver: items, links, accounts, keys, and its operator. */
export async function furnish(
  operator: StoreOperator,
  buyers = BUYERS,
): Promise<Fixtures & { operator: Operator }> {
  await operator.importItems(items())
  await operator.loadPool(STOCKED_ITEM, newLinks(LINKS))
  return { ...(await openAccounts(operator, buyers)), operator: actionsOf(operator) }
}

function itemId(n: number): string {
  return `7${String(n).padStart(18, '0')}`
}

function items() {
  const item = (n: number, name: string, type: string, price_cents: number, more: object = {}) => ({
    id: itemId(n),
    name,
    type,
    collection: n % 2 === 0 ? 'Winter Lights' : 'Basics',
    price_cents,
    ...more,
  })
  const image = (name: string) => ({ image: `https://cdn.example.com/${name}.png` })
  return [
    item(1, 'Silver Ring', 'decoration', 199, image('ring')),
    item(2, 'Golden Lamp', 'effect', 349, image('lamp')),
    item(3, 'Old Sign', 'nameplate', 100, { for_sale: false }),
    item(4, 'Spring Garland', 'decoration', 150, { available_until: '2024-05-01T00:00:00Z' }),
    item(5, 'Carved Frame', 'frame', 275),
    item(6, 'Whole Collection', 'bundle', 100_000, image('all')),
    item(7, 'Welcome Card', 'nameplate', 0),
    item(8, 'Star in Stock', 'effect', 125, image('star')),
    item(9, '100% Wool_Scarf', 'decoration', 500),
    item(10, 'Étoile 🎁', 'effect', 410),
    ...Array.from({ length: 30 }, (_, n) => item(100 + n, `Thing ${n}`, 'decoration', 50 + n)),
    // Seventeen and twenty digits: as text they would sort the other way round.
    { ...item(0, 'First of All', 'bundle', 900), id: '90000000000000001' },
    { ...item(0, 'Last of All', 'bundle', 900), id: '10000000000000000001' },
  ]
}

async function openAccounts({ admin, createAccount, createKey }: StoreOperator, count: number) {
  const open = async (name: string, balanceCents: number): Promise<Key> => {
    const { account_id, key } = await createAccount({ name, balanceCents })
    return { ...key, account: account_id }
  }
  const each = async (account: string, listOf: (scope: Scope) => string) =>
    Object.fromEntries(
      await Promise.all(
        scopes.map(async (scope) => [scope, { ...(await createKey(account, listOf(scope))), account }]),
      ),
    ) as Record<Scope, Key>
  const [buyers, shared, poor, suspended, revoked] = await Promise.all([
    Promise.all(Array.from({ length: count }, (_, n) => open(`Buyer ${n}`, OPENING_CENTS))),
    open('Many keys', OPENING_CENTS).then(async ({ account }) => ({
      only: await each(account, (scope) => scope),
      without: await each(account, (scope) => scopes.filter((other) => other !== scope).join(',')),
    })),
    open('Poor', 0),
    open('Suspended', OPENING_CENTS).then(async (key) => {
      await admin('accounts', 'suspend', key.account, '--reason', 'conformance')
      return key
    }),
    open('Revoked', 0).then(async (key) => {
      await admin('keys', 'revoke', key.id)
      return key
    }),
  ])
  const stocked = await admin('catalogue', 'show', STOCKED_ITEM)
  return { buyers, ...shared, poor, suspended, revoked, items: { stocked: stocked.item ?? stocked } }
}

function actionsOf({ admin, createKey, fund }: StoreOperator): Operator {
  return {
    closeStore: () => admin('store', 'close', '--reason', 'conformance'),
    openStore: () => admin('store', 'open'),
    newKey: async (account, list) => ({ ...(await createKey(account, list)), account }),
    revoke: ({ id }) => admin('keys', 'revoke', id),
    cancel: (id) => admin('orders', 'cancel', id, '--reason', 'conformance'),
    setPrice: (id, cents) => admin('catalogue', 'set', id, '--price', dollars(cents)),
    rotateWebhookSecret: async (account) => (await admin('webhooks', 'rotate-secret', account)).secret,
    suspend: (account) => admin('accounts', 'suspend', account, '--reason', 'conformance'),
    resume: (account) => admin('accounts', 'resume', account),
    fund,
  }
}
