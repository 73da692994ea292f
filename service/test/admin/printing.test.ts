import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

/** Clears the screen, forges a line, changes the text direction, and uses one character of the upper control set. */
const HOSTILE = 'wire\u001b[2J\r\nforged line\u202egnp\u009b1A'
const ESCAPED = 'wire\\u001b[2J\\u000d\\u000aforged line\\u202egnp\\u009b1A'
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const ACTIVE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())
const admin = (...args: string[]) => runAdminOn(shop, ...args)
const quoted = `'${HOSTILE}'`

test('values from data are printed with control and direction characters escaped', async () => {
  const { id } = shop.account
  await shop.database.asOwner(
    `update transfers set reference = ${quoted}; update accounts set name = ${quoted}; update api_keys set name = ${quoted};
     update store_state set reason = ${quoted}, is_open = false;
     insert into audit_log (id, at, actor, action, target, details) values ('aud_x', now(), ${quoted}, 'a.b', ${quoted}, '{}')`,
  )
  for (const args of [
    ['accounts', 'statement', id],
    ['accounts', 'show', id],
    ['accounts', 'list'],
    ['keys', 'list', id],
    ['store', 'show'],
    ['audit'],
  ]) {
    const { code, out } = await admin(...args)
    expect(code).toBe(EXIT.ok)
    expect(out, args.join(' ')).toContain(ESCAPED)
    expect(out, args.join(' ')).not.toMatch(ACTIVE)
    expect(out, args.join(' ')).not.toMatch(/^forged line/m)
  }
})

test('--json prints the same values, without characters that act on a terminal', async () => {
  const { out, json } = await admin('accounts', 'statement', shop.account.id, '--json')
  expect(json().transfers[0].reference).toBe(HOSTILE)
  expect(out).not.toMatch(ACTIVE)
})

test('messages on standard error are printable too, whatever was typed', async () => {
  const { err } = await admin('accounts', 'show', HOSTILE)
  expect(err).toContain('wire\\u001b[2J')
  expect(err).not.toMatch(ACTIVE)
})

test('references, notes, names and reasons with control or direction characters are refused with exit code 2', async () => {
  const { id } = shop.account
  for (const bad of ['a\u001b[0m', 'a\nb', '\u202ea', '\u2066a', '\u200fa', '\u061ca']) {
    for (const args of [
      ['accounts', 'fund', id, '1.00', '--reference', bad],
      ['accounts', 'fund', id, '1.00', '--reference', 'good', '--note', bad],
      ['accounts', 'adjust', id, '1.00', '--reference', 'good', '--note', bad],
      ['accounts', 'create', bad],
      ['accounts', 'suspend', id, '--reason', bad],
      ['keys', 'create', id, '--name', bad, '--scopes', 'all'],
      ['store', 'close', '--reason', bad],
      ['store', 'plan', '--for', '1h', '--reason', bad],
      ['orders', 'cancel', 'ord_00000000000000000000000000', '--reason', bad],
    ]) {
      const { code, err } = await admin(...args)
      expect({ code, args }).toEqual({ code: EXIT.usage, args })
      expect(err).toMatch(/without control characters/)
    }
  }
  const long = await admin('accounts', 'fund', id, '1.00', '--reference', 'x'.repeat(201))
  expect(long).toMatchObject({ code: EXIT.usage, err: expect.stringContaining('1 to 200 characters') })
})
