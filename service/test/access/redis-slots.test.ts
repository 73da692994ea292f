import { expect, test } from 'vitest'
import { SLOT_COUNT, slotOf, tagsBySlot } from '../../src/access/redis-slots.ts'

test('slots are the same as those of Redis', () => {
  // From `CLUSTER KEYSLOT` of a real server.
  expect(slotOf('123456789')).toBe(12_739)
  expect(slotOf('foo')).toBe(12_182)
  expect(slotOf('acct_01m7egj0ecezrvg08wqdkqnvzm')).toBe(15_223)
})

test('every slot has a tag that hashes to it', () => {
  const tags = tagsBySlot()
  expect(tags).toHaveLength(SLOT_COUNT)
  expect(tags.every((tag, slot) => slotOf(tag) === slot)).toBe(true)
})
