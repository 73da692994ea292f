import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newReference, parseReference, printReference, withCheckDigits } from '../../src/funding/reference.ts'

test('makes the check digits of the examples of ISO 11649', () => {
  expect(withCheckDigits('539007547034')).toBe('RF18539007547034')
  expect(parseReference('rf18 5390 0754 7034')).toBe('RF18539007547034')
})

test('a new reference is read back as it is printed, in any case and with any spaces', () => {
  const reference = newReference()
  expect(printReference(reference)).toMatch(/^RF\d\d SW\d\d \d{4} \d{4} \d{4}$/)
  expect(parseReference(printReference(reference).toLowerCase())).toBe(reference)
})

test('one wrong digit, or two neighbours swapped, is always found', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 14, maxLength: 14 }),
      fc.integer({ min: 6, max: 19 }),
      fc.integer({ min: 0, max: 9 }),
      (digits, at, digit) => {
        const rest = [...digits]
        const reference = newReference(() => rest.pop() ?? 0)
        const wrong = `${reference.slice(0, at)}${digit}${reference.slice(at + 1)}`
        if (wrong !== reference) expect(parseReference(wrong)).toBeUndefined()
        const [a = '', b = ''] = reference.slice(at, at + 2)
        const swapped = reference.slice(0, at) + b + a + reference.slice(at + 2)
        if (swapped !== reference) expect(parseReference(swapped)).toBeUndefined()
      },
    ),
  )
})

test.each(['', 'RF', 'RF00SW', 'hello', 'RF18 5390 0754 7035'])('refuses "%s"', (text) => {
  expect(parseReference(text)).toBeUndefined()
})
