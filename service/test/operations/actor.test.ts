import { expect, test } from 'vitest'
import { actorOf, currentLogin } from '../../src/operations/actor.ts'

const person = { uid: 1000, name: 'alice' }
const root = { uid: 0, name: 'root' }
const nameless = { uid: 54_321, name: undefined }

test('is the login, or the given name together with the login', () => {
  expect(actorOf(undefined, person, false)).toBe('cli:alice')
  expect(actorOf('alice', person, false)).toBe('cli:alice')
  expect(actorOf('bob', person, false)).toBe('cli:bob (login alice)')
  expect(actorOf('bob', root, false)).toBe('cli:bob')
  expect(actorOf('nightly-import', nameless, false)).toBe('cli:nightly-import')
})

test('production refuses root and a user id without a name unless an actor is given; development does not', () => {
  for (const [login, why] of [
    [root, /root may be anybody/],
    [nameless, /user id 54321 has no name/],
  ] as const) {
    expect(() => actorOf(undefined, login, false)).toThrow(why)
    expect(() => actorOf(undefined, login, false)).toThrow(/--actor <name> or SHOPWIRE_ACTOR/)
  }
  expect(actorOf(undefined, root, true)).toBe('cli:root')
  expect(actorOf(undefined, nameless, true)).toBe('cli:uid-54321')
})

test.each(['', 'a\nb', 'a\u001b[2J', '\u202eecila', 'x'.repeat(101)])('refuses the actor %j', (name) => {
  expect(() => actorOf(name, person, true)).toThrow(/An actor has 1 to 100 characters/)
})

test('the login of this process is read without an exception', () => {
  expect(currentLogin().uid).toBe(process.getuid?.())
})
