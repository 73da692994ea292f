import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCES = fileURLToPath(new URL('.', import.meta.url))
const BUILT = fileURLToPath(new URL('../../.data/chart', import.meta.url))
/** Where Debian's packages have the sources of the libraries. */
const DEBIAN_SOURCES = '/usr/share/gocode'
const INSTALL =
  'Install it: on Debian and Ubuntu "apt-get install golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev", ' +
  'on macOS "brew install go", which downloads the libraries when it builds.'

/** Why the chart cannot be rendered here; nothing when it can. CI must render it: there it fails without Go. */
export function whyNotRendered(): string | undefined {
  if (process.env.CI === 'true' || existsSync(binary()) || !isGoMissing()) return undefined
  return `the chart is not rendered, because Go is not installed; CI renders it. ${INSTALL}`
}

/** What tools/chart/render.go prints for this input. It is built when it has changed. */
export function runRenderer(input: string): string {
  if (!existsSync(binary())) build()
  return execFileSync(binary(), { input, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}

function binary(): string {
  const hash = createHash('sha256')
  for (const name of ['go.mod', 'render.go']) hash.update(readFileSync(join(SOURCES, name)))
  return join(BUILT, `render-${hash.digest('hex').slice(0, 16)}`)
}

function isGoMissing(): boolean {
  return spawnSync('go', ['version']).error !== undefined
}

function build() {
  if (isGoMissing()) throw new Error(`the chart cannot be rendered, because Go is not installed. ${INSTALL}`)
  // Tests build it side by side.
  const own = join(BUILT, `building-${process.pid}`)
  mkdirSync(own, { recursive: true })
  const fromDebian = existsSync(join(DEBIAN_SOURCES, 'src/github.com/Masterminds/sprig'))
  const { flags, env } = fromDebian ? withoutModules(own) : withModules(own)
  const args = ['build', ...flags, '-o', join(own, 'render'), 'shopwire/chart']
  const { status, stderr } = spawnSync('go', args, {
    cwd: SOURCES,
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', ...env },
  })
  if (status === 0) renameSync(join(own, 'render'), binary())
  rmSync(own, { recursive: true })
  if (status !== 0)
    throw new Error(`tools/chart/render.go was not built:\n${stderr}If a library is missing: ${INSTALL}`)
}

/** Needs no network. Imports with a version in their path are only found from a package that is in GOPATH itself. */
function withoutModules(folder: string) {
  mkdirSync(join(folder, 'src/shopwire'), { recursive: true })
  symlinkSync(SOURCES, join(folder, 'src/shopwire/chart'))
  return { flags: [], env: { GO111MODULE: 'off', GOPATH: `${folder}:${DEBIAN_SOURCES}` } }
}

/** Go adds to go.mod what the libraries need themselves, so it gets a copy. */
function withModules(folder: string) {
  const copy = join(folder, 'go.mod')
  copyFileSync(join(SOURCES, 'go.mod'), copy)
  return { flags: ['-mod=mod', `-modfile=${copy}`], env: { GO111MODULE: 'on' } }
}
