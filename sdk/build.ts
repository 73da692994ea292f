import { build } from 'tsdown'
import { finishPackage, readManifest } from '../packaging/finish.ts'
import { rememberModules } from '../packaging/packages-of.ts'

/**
 * Makes `dist/`, the package as it is published: ESM, CommonJS and types, and a package.json of its own. In the workspace the
 * sources themselves are imported, so nothing has to be built before a test or a type check.
 */
const here = import.meta.dirname
const { modules, plugin } = rememberModules()
/** Published name → source file, such as `./webhooks` → `./src/webhooks/index.ts`. */
const doors = Object.entries((await readManifest(here)).exports)

await build({
  config: false,
  cwd: here,
  entry: Object.fromEntries(doors.map(([door, path]) => [fileOf(door), path])),
  format: ['esm', 'cjs'],
  // What Node 22, the oldest line we support, and the runtimes of its time understand.
  target: 'es2023',
  platform: 'neutral',
  fixedExtension: true,
  dts: true,
  // Comments stay in the type declarations, where editors read them.
  plugins: [plugin],
  outputOptions: { comments: { jsdoc: false } },
  outDir: 'dist',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await finishPackage(
  here,
  {
    keywords: ['shopwire', 'webhooks', 'hmac', 'gift'],
    sideEffects: false,
    engines: { node: '>=22' },
    main: './index.cjs',
    module: './index.mjs',
    types: './index.d.cts',
    // For TypeScript's node10 resolution, which does not read `exports`.
    typesVersions: { '*': Object.fromEntries(doors.flatMap(([door]) => legacyTypes(fileOf(door)))) },
    exports: {
      ...Object.fromEntries(doors.map(([door]) => [door, conditions(fileOf(door))])),
      './package.json': './package.json',
    },
  },
  modules,
)

function legacyTypes(file: string): [string, string[]][] {
  return file === 'index' ? [] : [[file, [`./${file}.d.cts`]]]
}

function conditions(file: string) {
  return {
    import: { types: `./${file}.d.mts`, default: `./${file}.mjs` },
    require: { types: `./${file}.d.cts`, default: `./${file}.cjs` },
  }
}

function fileOf(door: string): string {
  return door === '.' ? 'index' : door.slice('./'.length)
}
