import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { CliError } from '../trouble.ts'

export interface Profile {
  readonly base_url: string
  readonly key_id: string
  readonly secret: string
  /** The URL of the emulator's control interface, if this is an emulator. */
  readonly emulator_url?: string | undefined
  /** The address of the store's dashboard and a personal access token for it. */
  readonly dashboard_url?: string | undefined
  readonly token?: string | undefined
  /** What `listen` signs forwarded events with; stays when the token is renewed. */
  readonly listen_secret?: string | undefined
}

export interface Profiles {
  /** The profile that is used when none is named. */
  readonly current: string | null
  readonly profiles: Readonly<Record<string, Profile>>
}

export const PROFILE_NAME_FORM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const OTHERS = 0o077
const isPosix = process.platform !== 'win32'

export function configFolder(env: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME: chosen } = env
  // The XDG specification says to ignore relative paths.
  return join(chosen && isAbsolute(chosen) ? chosen : join(homedir(), '.config'), 'shopwire')
}

export const profileFile = () => join(configFolder(), 'profiles.json')

/** The path for messages, with ~ for the home folder. */
export function shownFile(path: string, home: string = homedir()): string {
  return path.startsWith(join(home, '/')) ? join('~', path.slice(home.length)) : path
}

export async function readProfiles(): Promise<Profiles> {
  const path = profileFile()
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, profiles: {} }
    throw error
  }
  await refuseOpenDoors(path)
  try {
    const { current = null, profiles = {} } = JSON.parse(text) as Partial<Profiles>
    return { current, profiles }
  } catch {
    throw new CliError({
      type: 'profiles_unreadable',
      message: `${path} is not valid JSON.`,
      next: 'Fix it, or move it away and add the profiles again.',
    })
  }
}

/** Writes atomically; the file is never readable by others, not even briefly. */
export async function writeProfiles(profiles: Profiles): Promise<void> {
  const folder = configFolder()
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (isPosix) await chmod(folder, 0o700)
  const scratch = join(folder, `.profiles.${process.pid}.json`)
  // A file left by a killed run may have wider permissions, so a new one is created.
  await rm(scratch, { force: true })
  const file = await open(scratch, 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(profiles, null, 2)}\n`)
    await file.sync()
    await file.close()
    await rename(scratch, profileFile())
  } catch (error) {
    await rm(scratch, { force: true })
    throw error
  }
}

/** Refuses to use a secret that other users of this machine can read. */
async function refuseOpenDoors(path: string): Promise<void> {
  if (!isPosix) return
  const folder = configFolder()
  const wide: string[] = []
  if (((await stat(folder)).mode & OTHERS) !== 0) wide.push(`chmod 700 ${folder}`)
  if (((await stat(path)).mode & OTHERS) !== 0) wide.push(`chmod 600 ${path}`)
  if (wide.length === 0) return
  throw new CliError({
    type: 'secret_exposed',
    message: 'Other users of this machine can read your API secret.',
    why: `${path} holds it, and its permissions allow others to read it.`,
    next: `${wide.join(' && ')}\nIf someone could have read it, ask the store for a new key and have this one revoked.`,
  })
}
