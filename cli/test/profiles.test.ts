import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { profileFile, writeProfiles } from '../src/profiles/profile-file.ts'
import { folder, onTerminal, type RunOptions, shopwire } from './support.ts'

const SECRET = `sk_${'s'.repeat(43)}`
const ADD = [
  'profile',
  'add',
  'live',
  '--base-url',
  'https://shop.example/v1',
  '--key-id',
  'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y',
]

async function home() {
  const config = await folder()
  const env = { XDG_CONFIG_HOME: config }
  return {
    env,
    file: join(config, 'shopwire/profiles.json'),
    run: (args: readonly string[], options: RunOptions = {}) =>
      shopwire(args, { ...options, env: { ...env, ...options.env } }),
  }
}

test('reads a secret from stdin, stores it readable only by its owner, and never prints it', async () => {
  const { run, file } = await home()
  const added = await run(ADD, { input: `${SECRET}\n` })
  expect(added).toMatchObject({ code: 0, stderr: '' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(join(file, '..'))).mode & 0o777).toBe(0o700)
  expect(JSON.parse(await readFile(file, 'utf8')).profiles.live.secret).toBe(SECRET)
  for (const args of [
    ['profile'],
    ['profile', 'show'],
    ['profile', 'list', '--json'],
    ['profile', 'show', 'live', '--json'],
  ]) {
    const { stdout, stderr, code } = await run(args)
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(SECRET.slice(3, 12))
  }
})

test('on a terminal prompts for a secret without echo', async () => {
  const { env, file } = await home()
  const { stdout, code } = await onTerminal(ADD, env, `${SECRET}\r`, /not shown/)
  expect(code).toBe(0)
  expect(stdout).not.toContain(SECRET.slice(3, 12))
  expect(JSON.parse(await readFile(file, 'utf8')).profiles.live.secret).toBe(SECRET)
})

test('refuses a secret as an argument', async () => {
  const { run } = await home()
  expect(await run([...ADD, '--secret', SECRET])).toMatchObject({ code: 2 })
})

test('refuses a profile file that others can read, and prints the command that fixes it', async () => {
  const { run, file } = await home()
  await run(ADD, { input: SECRET })
  await chmod(file, 0o644)
  const refused = await run(['balance'])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain('Other users of this machine can read your API secret')
  expect(refused.stderr).toContain(`chmod 600 ${file}`)
  await chmod(file, 0o600)
  await chmod(join(file, '..'), 0o755)
  expect((await run(['profile', 'show'])).stderr).toContain('chmod 700')
})

test('precedence: profile in use, then SHOPWIRE_PROFILE, then the variables, then --profile', async () => {
  const { run } = await home()
  await run(ADD, { input: SECRET })
  await run(['profile', 'add', 'other', '--base-url', 'https://other.example/v1', '--key-id', 'key_c1_x'], {
    input: SECRET,
  })
  const used = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    JSON.parse((await run(['profile', 'show', '--json', ...args], { env })).stdout).source
  expect(await used([])).toBe('profile live')
  expect(await used([], { SHOPWIRE_PROFILE: 'other' })).toBe('profile other')
  const variables = {
    SHOPWIRE_BASE_URL: 'https://e.example/v1',
    SHOPWIRE_API_KEY: 'k',
    SHOPWIRE_API_SECRET: 's',
  }
  expect(await used([], { ...variables, SHOPWIRE_PROFILE: 'other' })).toBe('environment')
  expect(await used(['--profile', 'live'], variables)).toBe('profile live')
  await run(['profile', 'use', 'other'])
  expect(await used([])).toBe('profile other')
  await run(['profile', 'remove', 'other'])
  expect((await run(['balance'])).code).toBe(2)
})

test('key, secret and address are never mixed from two sources', async () => {
  const { run } = await home()
  await run(ADD, { input: SECRET })
  const mixed = await run(['balance'], { env: { SHOPWIRE_BASE_URL: 'https://evil.example/v1' } })
  expect(mixed.code).toBe(2)
  expect(mixed.stderr).toContain('not SHOPWIRE_API_KEY or SHOPWIRE_API_SECRET')
})

test.each([
  [
    'a secret for the key id',
    ['profile', 'add', 'x', '--base-url', 'https://a.example/v1', '--key-id', SECRET],
    SECRET,
  ],
  ['a key id for the secret', ADD, 'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y'],
  ['no secret', ADD, ''],
  [
    'an address without /v1',
    ['profile', 'add', 'x', '--base-url', 'https://a.example', '--key-id', 'k'],
    SECRET,
  ],
  ['an odd name', ['profile', 'add', '../x', '--base-url', 'https://a.example/v1', '--key-id', 'k'], SECRET],
])('saves nothing for %s', async (_name, args, input) => {
  const { run } = await home()
  expect(await run(args, { input })).toMatchObject({ code: 2 })
  expect(JSON.parse((await run(['profile', '--json'])).stdout)).toEqual({ profiles: [] })
})

test('names a broken profile file and does not overwrite it', async () => {
  const { run, file } = await home()
  await mkdir(join(file, '..'), { mode: 0o700 })
  await writeFile(file, '{', { mode: 0o600 })
  expect((await run(ADD, { input: SECRET })).code).toBe(1)
  expect(await readFile(file, 'utf8')).toBe('{')
})

test('a temporary file or symlink left by a killed run is not used', async () => {
  const config = await folder()
  const before = process.env.XDG_CONFIG_HOME
  process.env.XDG_CONFIG_HOME = config
  try {
    const elsewhere = join(config, 'elsewhere')
    await writeFile(elsewhere, 'untouched', { mode: 0o644 })
    await mkdir(join(config, 'shopwire'))
    await symlink(elsewhere, join(config, 'shopwire', `.profiles.${process.pid}.json`))
    await writeProfiles({ current: null, profiles: {} })
    expect(await readFile(elsewhere, 'utf8')).toBe('untouched')
    expect((await lstat(profileFile())).mode & 0o170777).toBe(0o100600)
  } finally {
    if (before === undefined) delete process.env.XDG_CONFIG_HOME
    else process.env.XDG_CONFIG_HOME = before
  }
})
