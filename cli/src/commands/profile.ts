import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { type Credentials, unknownProfile } from '../profiles/credentials.ts'
import {
  PROFILE_NAME_FORM,
  type Profile,
  profileFile,
  readProfiles,
  shownFile,
  writeProfiles,
} from '../profiles/profile-file.ts'
import { EMULATOR_URL_DEFAULT, Emulator } from '../store/emulator.ts'
import { askHidden, askLine, isInteractive, readStdin } from '../terminal/ask.ts'
import { facts, table } from '../terminal/table.ts'
import { EXIT, UsageError } from '../trouble.ts'

export function define(command: Command): void {
  command.addHelpText(
    'after',
    `
A profile is a store's address, a key id and its secret. They are stored in ${'~/.config/shopwire/profiles.json'}, which
only you can read. --profile NAME uses one once; SHOPWIRE_PROFILE chooses one for a shell; the three variables
SHOPWIRE_BASE_URL, SHOPWIRE_API_KEY and SHOPWIRE_API_SECRET take precedence over the profile in use.
${examples(
  'shopwire profile add live --base-url https://shop.example/v1 --key-id key_c1_…',
  'shopwire profile add emulator --emulator',
  'shopwire profile use live',
  'shopwire profile show',
)}`,
  )
  work(command.command('list', { isDefault: true }).description('all profiles'), list)
  work<AddOptions>(
    command
      .command('add <name>')
      .description('add a profile, or replace it')
      .option('--base-url <url>', 'address of the store; it ends in /v1')
      .option('--key-id <id>', 'public id of the API key')
      .option(
        '--emulator [url]',
        `take address, key and secret from a running emulator (${EMULATOR_URL_DEFAULT})`,
      )
      .option('--use', 'make it the profile in use')
      .addHelpText(
        'after',
        `
The secret is read from a prompt that does not show it, or from stdin. It is never an argument, because other users
can see those.
${examples(
  'shopwire profile add live --base-url https://shop.example/v1 --key-id key_c1_…',
  'pass show shopwire | shopwire profile add live --base-url https://shop.example/v1 --key-id key_c1_…',
  'shopwire profile add emulator --emulator http://127.0.0.1:4010',
)}`,
      ),
    add,
  )
  work(command.command('use <name>').description('set the profile in use when none is named'), use)
  work(command.command('remove <name>').description('delete a profile with its secret'), remove)
  work(command.command('show [name]').description('show the profile in effect, without the secret'), show)
}

interface AddOptions {
  readonly baseUrl?: string
  readonly keyId?: string
  readonly emulator?: string | true
  readonly use?: true
}

async function list({ out }: Context): Promise<Outcome> {
  const { current, profiles } = await readProfiles()
  const rows = Object.entries(profiles).map(([name, { base_url, key_id, emulator_url }]) => ({
    name,
    base_url,
    key_id,
    emulator: emulator_url !== undefined,
    current: name === current,
  }))
  out.show({ profiles: rows }, () => {
    if (rows.length === 0) return 'No profiles yet. Add one: shopwire profile add NAME'
    return table(
      rows,
      [
        { title: '', cell: (row) => (row.current ? '*' : ' '), paint: (text) => out.paint.green(text) },
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'STORE', cell: ({ base_url, emulator }) => `${base_url}${emulator ? ' (emulator)' : ''}` },
        { title: 'KEY', cell: ({ key_id }) => key_id },
      ],
      out.paint,
    )
  })
}

async function add({ out }: Context, options: AddOptions, name = ''): Promise<Outcome> {
  if (!PROFILE_NAME_FORM.test(name)) {
    throw new UsageError(
      `${JSON.stringify(name)} is not a valid profile name.`,
      'Use letters, digits, dots, underscores and hyphens, 64 at most.',
    )
  }
  const profile =
    options.emulator === undefined ? await askProfile(options) : await fromEmulator(options.emulator)
  const before = await readProfiles()
  const current = options.use || before.current === null ? name : before.current
  await writeProfiles({ current, profiles: { ...before.profiles, [name]: profile } })
  out.show(
    {
      name,
      base_url: profile.base_url,
      key_id: profile.key_id,
      current: current === name,
      file: profileFile(),
    },
    () =>
      [
        `${out.paint.green('✔')} Profile ${out.paint.bold(name)}: ${profile.base_url}, ${profile.key_id}${current === name ? ', in use' : ''}`,
        out.paint.dim(
          `  Stored in ${shownFile(profileFile())}, readable only by you. Try it: shopwire ${current === name ? '' : `--profile ${name} `}doctor`,
        ),
      ].join('\n'),
  )
}

async function fromEmulator(url: string | true): Promise<Profile> {
  const text = url === true ? EMULATOR_URL_DEFAULT : url.includes('://') ? url : `http://${url}`
  if (!URL.canParse(text))
    throw new UsageError(`${JSON.stringify(url)} is not an address.`, `Such as ${EMULATOR_URL_DEFAULT}.`)
  const emulator = new Emulator(text)
  const { base_url, key } = await emulator.facts()
  return { base_url, key_id: key.id, secret: key.secret, emulator_url: emulator.origin }
}

async function askProfile(options: AddOptions): Promise<Profile> {
  const base_url = checkedBaseUrl(
    options.baseUrl ?? (await askFor('Base URL, such as https://shop.example/v1: ', '--base-url')),
  )
  const key_id = (options.keyId ?? (await askFor('Key id, such as key_c1_…: ', '--key-id'))).trim()
  if (/^sk_/.test(key_id))
    throw new UsageError(
      'This is a secret, not a key id.',
      'A key id begins with key_. That secret may now be in the history of your shell: if so, replace the key.',
    )
  const secret = (process.stdin.isTTY ? await askHidden('Secret (not shown): ') : await readStdin()).trim()
  if (secret === '')
    throw new UsageError(
      'No secret was given; nothing was saved.',
      'Type or paste it when asked, or pipe it in.',
    )
  if (secret === key_id || /^key_/.test(secret))
    throw new UsageError(
      'This is a key id, not its secret; nothing was saved.',
      'A secret begins with sk_ and was shown once, when the key was made.',
    )
  return { base_url, key_id, secret }
}

async function askFor(question: string, option: string): Promise<string> {
  if (!isInteractive())
    throw new UsageError(`${option} is missing, and there is no terminal to ask on.`, `Add ${option}.`)
  const answer = (await askLine(question)).trim()
  if (answer === '')
    throw new UsageError('The input is empty; nothing was saved.', `Run it again, or add ${option}.`)
  return answer
}

function checkedBaseUrl(text: string): string {
  const trimmed = text.trim().replace(/\/+$/, '')
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.search ||
    url.hash ||
    url.username ||
    url.password ||
    !url.pathname.endsWith('/v1')
  ) {
    throw new UsageError(
      // The part before an @ may be a password.
      `${text.includes('@') ? 'The given text' : JSON.stringify(text)} is not a base URL.`,
      'It looks like https://shop.example/v1 and ends in /v1.',
    )
  }
  return trimmed
}

async function use({ out }: Context, _options: object, name = ''): Promise<Outcome> {
  const { profiles } = await readProfiles()
  if (!Object.hasOwn(profiles, name)) throw unknownProfile(name, Object.keys(profiles))
  await writeProfiles({ current: name, profiles })
  out.show(
    { current: name },
    () => `${out.paint.green('✔')} ${out.paint.bold(name)} is now the profile in use.`,
  )
}

async function remove({ out }: Context, _options: object, name = ''): Promise<Outcome> {
  const { current, profiles } = await readProfiles()
  if (!Object.hasOwn(profiles, name)) throw unknownProfile(name, Object.keys(profiles))
  const { [name]: _gone, ...rest } = profiles
  const next = current === name ? null : current
  await writeProfiles({ current: next, profiles: rest })
  out.show({ removed: name, current: next }, () =>
    [
      `${out.paint.green('✔')} ${out.paint.bold(name)} is deleted. Its key stays valid at the store until it is revoked there.`,
      ...(next === null && Object.keys(rest).length > 0
        ? [out.paint.dim('  No profile is in use now: shopwire profile use NAME')]
        : []),
    ].join('\n'),
  )
}

async function show(context: Context, _options: object, name?: string): Promise<Outcome> {
  const { out } = context
  const found = name === undefined ? await context.credentials() : await named(name)
  const { source, baseUrl: base_url, keyId: key_id, emulatorUrl, secret } = found
  out.show({ source, base_url, key_id, emulator_url: emulatorUrl ?? null, has_secret: secret !== '' }, () =>
    facts(
      [
        ['From', source],
        ['Store', base_url],
        ['Key', key_id],
        ['Secret', 'stored, never shown'],
        emulatorUrl ? ['Emulator', emulatorUrl] : undefined,
      ],
      out.paint,
    ),
  )
  return EXIT.ok
}

async function named(name: string): Promise<Credentials> {
  const { profiles } = await readProfiles()
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!profile) throw unknownProfile(name, Object.keys(profiles))
  return {
    source: `profile ${name}`,
    baseUrl: profile.base_url,
    keyId: profile.key_id,
    secret: profile.secret,
    emulatorUrl: profile.emulator_url,
  }
}
