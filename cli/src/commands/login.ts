import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import {
  checkedDashboardUrl,
  findCredentials,
  TOKEN_VARIABLES,
  unknownProfile,
} from '../profiles/credentials.ts'
import { profileFile, readProfiles, shownFile, writeProfiles } from '../profiles/profile-file.ts'
import { Dashboard } from '../store/dashboard.ts'
import { askHidden, readStdin } from '../terminal/ask.ts'
import { CliError, EXIT, UsageError } from '../trouble.ts'

interface Options {
  readonly dashboardUrl?: string
}

const TOKEN_FORM = /^swp_[A-Za-z0-9_-]{43}$/

export function define(command: Command): void {
  command.option('--dashboard-url <url>', "address of the store's dashboard").addHelpText(
    'after',
    `
Stores a personal access token in the profile in use, for shopwire listen and shopwire orders prove. Create one in the
dashboard, under API keys, Command line. It is read from a prompt that does not show it, or from stdin; it is never an
argument, because other users can see those. Without a profile, set ${TOKEN_VARIABLES.join(' and ')}.
${examples(
  'shopwire login --dashboard-url https://dashboard.shop.example',
  'pass show shopwire-token | shopwire login --profile live',
)}`,
  )
  work<Options>(command, login)
}

async function login(context: Context, options: Options): Promise<Outcome> {
  const { out } = context
  const before = await readProfiles()
  const name = context.profileName ?? before.current
  if (name === null) {
    // Says how to add one.
    await findCredentials(undefined, {})
    return EXIT.usage
  }
  const profile = Object.hasOwn(before.profiles, name) ? before.profiles[name] : undefined
  if (!profile) throw unknownProfile(name, Object.keys(before.profiles))
  const given = options.dashboardUrl ?? profile.dashboard_url
  if (given === undefined)
    throw new UsageError('The address of the dashboard is missing.', 'Add --dashboard-url https://…')
  const dashboard_url = checkedDashboardUrl(given)
  const token = (process.stdin.isTTY ? await askHidden('Token (not shown): ') : await readStdin()).trim()
  if (!TOKEN_FORM.test(token))
    throw new UsageError(
      'This is not a personal access token; nothing was saved.',
      'It begins with swp_ and was shown once, when it was made. A secret that begins with sk_ is that of an API key.',
    )
  await check(new Dashboard({ dashboardUrl: dashboard_url, token }))
  const listen_secret = profile.listen_secret ?? `whsec_${randomBytes(32).toString('base64url')}`
  await writeProfiles({
    ...before,
    profiles: { ...before.profiles, [name]: { ...profile, dashboard_url, token, listen_secret } },
  })
  out.show({ profile: name, dashboard_url, file: profileFile() }, () =>
    [
      `${out.paint.green('✔')} The token for ${dashboard_url} is in the profile ${out.paint.bold(name)}.`,
      out.paint.dim(
        `  Stored in ${shownFile(profileFile())}, readable only by you. Try it: shopwire listen --forward-to localhost:3000/hooks`,
      ),
    ].join('\n'),
  )
}

/** A request that any valid token may make, or is refused for lack of a right; only an invalid token is refused as such. */
async function check(dashboard: Dashboard): Promise<void> {
  try {
    await dashboard.json('/tokens/proofs/shopwire-login-check')
  } catch (error) {
    const type = error instanceof CliError ? error.trouble.type : undefined
    if (type !== 'not_found' && type !== 'insufficient_scope') throw error
  }
}
