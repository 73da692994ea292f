import { existsSync } from 'node:fs'
import { copyFile, cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'

/**
 * Makes `dist/`, the package as it is published: our own code bundled, with the files it reads beside it (what must hold of the data,
 * the migrations, the page, the pages for callers), and a package.json of its own. What comes from npm stays a dependency. In the workspace the sources
 * themselves are run.
 */
const here = import.meta.dirname
const service = join(here, '../service')
const source = await manifest(here)
/** Behind a setting that the emulator does not have; its driver would be installed for nothing. */
const LEFT_OUT = /admission-redis\.ts$/

await rm(join(here, 'dist'), { recursive: true, force: true })
await build({
  config: false,
  cwd: here,
  entry: {
    index: './src/index.ts',
    emulator: './bin/emulator.ts',
    // Run as a process of its own, found beside the code that starts it.
    leash: '../engines/src/leash.ts',
  },
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  fixedExtension: true,
  dts: false,
  deps: { alwaysBundle: [/^@shopwire\//], neverBundle: Object.keys(await dependencies()) },
  plugins: [
    {
      name: 'leave-out',
      load: (id: string) =>
        LEFT_OUT.test(id)
          ? 'export const redisAdmission = () => { throw new Error("not in the emulator") }'
          : null,
    },
  ],
  outputOptions: { comments: { jsdoc: false } },
  // The code looks for its files one folder above itself, here as in the sources.
  outDir: 'dist/lib',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
// The types on their own: they need nothing of what is bundled.
await build({
  config: false,
  cwd: here,
  entry: { index: './src/index.ts' },
  format: ['esm'],
  fixedExtension: true,
  clean: false,
  dts: { oxc: true, emitDtsOnly: true },
  outDir: 'dist/lib',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await cp(join(service, 'migrations'), join(here, 'dist/migrations'), { recursive: true })
await cp(join(service, 'invariants'), join(here, 'dist/invariants'), { recursive: true })
if (existsSync(join(here, 'src/page')))
  await cp(join(here, 'src/page'), join(here, 'dist/page'), { recursive: true })
for (const part of ['reference', 'guides', 'start'])
  await cp(join(here, '../docs', part), join(here, 'dist/docs', part), { recursive: true })
await copyFile(join(here, 'README.md'), join(here, 'dist/README.md'))
await copyFile(join(here, '../LICENSE'), join(here, 'dist/LICENSE'))
await writeFile(join(here, 'dist/package.json'), `${JSON.stringify(await published(), null, 2)}\n`)

async function published() {
  const { name, version, description, license, optionalDependencies } = source
  return {
    name,
    version,
    description,
    license,
    keywords: ['shopwire', 'emulator', 'testing', 'webhooks'],
    type: 'module',
    // The oldest that undici, which delivers webhooks, runs on.
    engines: { node: '>=22.19' },
    bin: { 'shopwire-emulator': 'lib/emulator.mjs' },
    main: './lib/index.mjs',
    types: './lib/index.d.mts',
    exports: {
      '.': { types: './lib/index.d.mts', default: './lib/index.mjs' },
      './package.json': './package.json',
    },
    dependencies: await dependencies(),
    optionalDependencies,
    publishConfig: { access: 'public' },
  }
}

/** What the bundled code still asks npm for. */
async function dependencies(): Promise<Record<string, string>> {
  const [ofService, ofContract] = await Promise.all([manifest(service), manifest(join(here, '../contract'))])
  const all: Record<string, string> = { ...ofService.dependencies, ...ofContract.dependencies }
  const isUsed = ([name]: [string, string]) =>
    !name.startsWith('@shopwire/') && !['commander', 'ioredis'].includes(name)
  return Object.fromEntries(
    Object.entries(all)
      .filter(isUsed)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

async function manifest(folder: string) {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}
