import { expect, test } from 'vitest'
import { DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../../src/config/config.ts'
import { listening } from '../../src/programs/wiring.ts'

const config = loadConfig({
  SHOPWIRE_ENV: 'development',
  SHOPWIRE_DATABASE_URL: 'postgres://app@db/x',
  SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
  SHOPWIRE_PORT: '80',
})
const failed = (code: string) => Promise.reject(Object.assign(new Error(`listen ${code}`), { code }))

test('a port that needs rights is reported with its setting, and any other error is passed on unchanged', async () => {
  await expect(listening('SHOPWIRE', config, failed('EACCES'))).rejects.toMatchObject({
    code: 'EACCES',
    message: expect.stringMatching(
      /^Port 80 on 0\.0\.0\.0 may not be used by this user.* Set SHOPWIRE_PORT to 1024/,
    ),
  })
  await expect(listening('SHOPWIRE_HEALTH', config, failed('EMFILE'))).rejects.toThrow(/^listen EMFILE$/)
})
