import { expect, test } from 'vitest'
import { divideCores } from '../shared/pin.ts'

test.each([
  [3, { load: '0', database: '1', service: '2' }],
  [4, { load: '0', database: '1-2', service: '3' }],
  [8, { load: '0', database: '1-5', service: '6-7' }],
])('%i cores are divided among load, database and service without overlap', (count, cores) => {
  expect(divideCores(count)).toEqual(cores)
})
