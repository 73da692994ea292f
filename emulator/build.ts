import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'
import { finishPackage, readManifest } from '../packaging/finish.ts'
import { rememberModules } from '../packaging/packages-of.ts'
import { NODE_MIN } from './src/arguments.ts'

/**
 * Makes `dist/`, the package as it is published: our own code bundled, with the files it reads beside it (the
 * schema, the page, documentation) and its own package.json. npm packages stay dependencies. In the workspace the
 * sources are run directly.
 */
const here = import.meta.dirname
const { modules, plugin } = rememberModules()
/** A line that imports a package, or a call. */
const IMPORTS = /(?:^(?:import|export)[^"';]*|\bimport\()["']([@\w][^"'\s]*)["']/gm
/** The packages that the bundled code imports, or a part of them such as csv-parse/sync. */
const imported = new Set<string>()
const service = join(here, '../service')
/** Modules that the emulator loads and never uses: neither Redis nor cards nor AWS. Their packages would be installed for nothing. */
const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/admission-redis\.ts$/, 'export const redisAdmission = () => { throw new Error("not in the emulator") }'],
  [
    /platform\/encryption\/aws-kms\.ts$/,
    'export const openWithKms = () => { throw new Error("not in the emulator") }; export const createWithKms = openWithKms',
  ],
  [
    /funding\/stripe\.ts$/,
    'export const stripeProvider = () => { throw new Error("not in the emulator") }; export const stripeEvents = stripeProvider',
  ],
]

await rm(join(here, 'dist'), { recursive: true, force: true })
await build({
  config: false,
  cwd: here,
  entry: {
    index: './src/index.ts',
    emulator: './bin/emulator.ts',
    // Runs as a separate process; the code that starts it expects it beside itself.
    reaper: '../test-kit/servers/processes/reaper.ts',
  },
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  fixedExtension: true,
  dts: false,
  deps: {
    alwaysBundle: [/^@shopwire\//],
    // Whole packages, also when only a part such as csv-parse/sync is imported.
    neverBundle: Object.keys(await packages()).map(
      (name) => new RegExp(`^${name.replaceAll('.', '\\.')}(/|$)`),
    ),
  },
  // An import of which nothing is used is left out, and so is its package.
  treeshake: { moduleSideEffects: 'no-external' },
  plugins: [
    plugin,
    {
      name: 'remember-imports',
      generateBundle(_: unknown, files: Record<string, { type: string; code?: string }>) {
        // Not the chunks' lists of imports: they name those that were left out, too.
        for (const { code = '' } of Object.values(files))
          for (const [, name = ''] of code.matchAll(IMPORTS))
            imported.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
      },
    },
    {
      name: 'leave-out',
      load: (id: string) => LEFT_OUT.find(([file]) => file.test(id))?.[1] ?? null,
    },
  ],
  outputOptions: { comments: { jsdoc: false } },
  // The code looks for its files one folder above itself, here as in the sources.
  outDir: 'dist/lib',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
// The types are built separately: they depend on nothing that is bundled.
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
// Every supported Node can require ESM; TypeScript needs a separate file to know it.
await writeFile(join(here, 'dist/lib/index.cjs'), "module.exports = require('./index.mjs')\n")
await cp(join(here, 'dist/lib/index.d.mts'), join(here, 'dist/lib/index.d.cts'))
for (const part of ['tables', 'functions', 'rights', 'invariants'])
  await cp(join(service, 'schema', part), join(here, 'dist/schema', part), { recursive: true })
await cp(join(here, 'src/page'), join(here, 'dist/page'), { recursive: true })
for (const part of ['reference', 'guides', 'start'])
  await cp(join(here, '../docs', part), join(here, 'dist/docs', part), { recursive: true })
await finishPackage(
  here,
  {
    keywords: ['shopwire', 'emulator', 'testing', 'webhooks'],
    engines: { node: `>=${NODE_MIN.join('.')}` },
    bin: { 'shopwire-emulator': 'lib/emulator.mjs' },
    main: './lib/index.cjs',
    types: './lib/index.d.cts',
    exports: {
      '.': {
        import: { types: './lib/index.d.mts', default: './lib/index.mjs' },
        require: { types: './lib/index.d.cts', default: './lib/index.cjs' },
      },
      './package.json': './package.json',
    },
    dependencies: Object.fromEntries(Object.entries(await packages()).filter(([name]) => imported.has(name))),
    optionalDependencies: (await readManifest(here)).optionalDependencies,
  },
  modules,
)

/** The npm packages that our code may import. */
async function packages(): Promise<Record<string, string>> {
  const [ofService, ofContract] = await Promise.all([
    readManifest(service),
    readManifest(join(here, '../contract')),
  ])
  const all: Record<string, string> = { ...ofService.dependencies, ...ofContract.dependencies }
  return Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => !name.startsWith('@shopwire/'))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
