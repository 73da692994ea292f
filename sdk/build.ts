import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'

/**
 * Makes `dist/`, the package as it is published: ESM, CommonJS and types, and a package.json of its own. In the workspace the
 * sources themselves are imported, so nothing has to be built before a test or a type check.
 */
const here = import.meta.dirname
const source = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'))
/** Published name → source file, such as `./webhooks` → `./src/webhooks/index.ts`. */
const doors = Object.entries<string>(source.exports)

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
  // The words are in the types, where editors look for them.
  outputOptions: { comments: { jsdoc: false } },
  outDir: 'dist',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await copyFile(join(here, 'README.md'), join(here, 'dist/README.md'))
await copyFile(join(here, '../LICENSE'), join(here, 'dist/LICENSE'))
await writeFile(join(here, 'dist/package.json'), `${JSON.stringify(published(), null, 2)}\n`)

function published() {
  const { name, version, description, license } = source
  return {
    name,
    version,
    description,
    license,
    keywords: ['shopwire', 'webhooks', 'hmac', 'gift'],
    type: 'module',
    sideEffects: false,
    engines: { node: '>=22' },
    main: './index.cjs',
    module: './index.mjs',
    types: './index.d.cts',
    exports: {
      ...Object.fromEntries(doors.map(([door]) => [door, conditions(fileOf(door))])),
      './package.json': './package.json',
    },
    publishConfig: { access: 'public' },
  }
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
