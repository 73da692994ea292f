import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { progressText } from '../../src/admin/terminal/progress.ts'
import { coloured, type Terminal } from '../../src/admin/terminal/terminal.ts'
import { runAdminAt, runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const ITEM = '50000000000000008'
const PLAIN = { isColoured: { out: false, err: false } }

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(ITEM, {})]))
})
afterAll(() => shop.close())

test('at a terminal an irreversible command says what it does and asks; no is exit code 5, --yes and scripts are not asked', async () => {
  const asked: string[] = []
  const answering = (answer: string): Terminal => ({
    ...PLAIN,
    ask: async (question) => {
      asked.push(question)
      return answer
    },
  })
  const cancel = ['orders', 'cancel', await buy('asked-first'), '--reason', 'out of stock'] as const
  const no = await runAdminAt(answering(''), shop, ...cancel)
  expect(no).toMatchObject({ code: EXIT.conflict, out: '' })
  expect(no.err).toMatch(/^Order ord_\w{26} of acct_\w{26}, 1 links, paid: .* \$1\.00 go back\./)
  expect(no.err).toContain('nothing was done')
  expect((await runAdminAt(answering('y'), shop, ...cancel)).out).toContain('Cancelled')
  expect(asked).toHaveLength(2)

  const { id: key } = await shop.makeKey()
  expect((await runAdminAt(answering('n'), shop, 'keys', 'revoke', key)).code).toBe(EXIT.conflict)
  expect((await runAdminAt(answering('n'), shop, 'keys', 'revoke', key, '--yes')).out).toContain('Revoked')
  expect((await runAdminOn(shop, 'keys', 'revoke', key)).code).toBe(EXIT.ok)
  expect((await runAdminAt(answering('n'), shop, 'keys', 'revoke', key, '--json')).code).toBe(EXIT.ok)
  expect(asked).toHaveLength(3)
  const { out } = await runAdminOn(shop, 'keys', 'revoke', '--help')
  expect(out.replaceAll(/\s+/g, ' ')).toContain(
    '--yes do not ask; without a terminal, as in a script, nothing is asked anyway',
  )
})

test('colours are for terminals, and only what needs attention or is well has one', async () => {
  await shop.operator.chooseSource(ITEM, { source: 'pool' })
  const levels = ['pool', 'levels', '--low']
  const red = await runAdminAt({ isColoured: { out: true, err: true } }, shop, ...levels)
  expect(red.out).toContain('\u001b[1;31mEMPTY\u001b[0m: not sellable')
  expect((await runAdminOn(shop, ...levels)).out).not.toContain('\u001b')
  const json = await runAdminAt({ isColoured: { out: true, err: true } }, shop, ...levels, '--json')
  expect(json.out).not.toContain('\u001b')
  expect(coloured('All is well.')).toBe('\u001b[32mAll is well.\u001b[0m')
})

test('progress says how many of how many, the rate, and the time left', () => {
  expect(progressText('links loaded', 0, 200_000, Number.NaN)).toBe('0 of 200,000 links loaded')
  expect(progressText('links loaded', 50_000, 200_000, 12_345)).toBe(
    '50,000 of 200,000 links loaded, 12,345/s, 13 s left',
  )
  expect(progressText('rules checked', 10, 79, 0.25)).toBe('10 of 79 rules checked, 0.3/s, 5 min left')
})

async function buy(idempotency_key: string): Promise<string> {
  const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key })
  return (await shop.call('POST', '/v1/orders', { body })).body.id
}
