import { scopes } from '@shopwire/contract'
import { keyPresets, tokenRights } from '@shopwire/contract/dashboard'
import { expect, test } from 'vitest'
import { presets, scopeMeanings, tokens } from '#apps/dashboard/strings/keys.ts'

test('the presets and scopes that people choose from are those of the contract', () => {
  expect(presets).toEqual(keyPresets)
  expect(Object.keys(scopeMeanings)).toEqual([...scopes])
  expect(Object.keys(tokens.rights)).toEqual([...tokenRights])
})
