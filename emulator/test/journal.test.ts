import { expect, test } from 'vitest'
import { createJournal } from '../src/store/journal.ts'
import type { RecordedRequest } from '../src/types.ts'

test('the journal stays bounded and keeps the newest records, however much callers send', () => {
  const journal = createJournal()
  const answer = 'x'.repeat(1_000_000)
  for (let n = 0; n < 200; n += 1) journal.add('request', { id: String(n), answer } as RecordedRequest)
  const kept = journal.after('request', 0, 2_000)
  expect(kept.length).toBeGreaterThan(20)
  expect(kept.length).toBeLessThan(40)
  expect(kept.at(-1)?.id).toBe('199')
  for (let n = 0; n < 3_000; n += 1) journal.add('request', { id: 'small' } as RecordedRequest)
  expect(journal.after('request', 0, 2_000)).toHaveLength(2_000)
})
