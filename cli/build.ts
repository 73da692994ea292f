import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'

/**
 * Makes `dist/`, the package as it is published: one program with the SDK, the contract's signing and commander in it, so
 * that installing it brings nothing else along. In the workspace the sources are run as they are.
 */
const here = import.meta.dirname
const source = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'))

await rm(join(here, 'dist'), { recursive: true, force: true })
await build({
  config: false,
  cwd: here,
  entry: { shopwire: './bin/shopwire.ts' },
  format: 'esm',
  // What Node 22, the oldest line we support, understands.
  target: 'node22',
  platform: 'node',
  fixedExtension: true,
  dts: false,
  deps: { alwaysBundle: [/^@shopwire\//, 'commander'], onlyBundle: false },
  outputOptions: { comments: { jsdoc: false } },
  outDir: 'dist',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await chmod(join(here, 'dist/shopwire.mjs'), 0o755)
await copyFile(join(here, 'README.md'), join(here, 'dist/README.md'))
await copyFile(join(here, '../LICENSE'), join(here, 'dist/LICENSE'))
// Its licence asks for it: commander is part of the program.
await copyFile(new URL('./LICENSE', import.meta.resolve('commander')), join(here, 'dist/LICENSE-commander'))
await writeFile(join(here, 'dist/package.json'), `${JSON.stringify(published(), null, 2)}\n`)

function published() {
  const { name, version, description, license } = source
  return {
    name,
    version,
    description,
    license,
    keywords: ['shopwire', 'cli', 'webhooks', 'hmac', 'gift'],
    type: 'module',
    engines: { node: '>=22' },
    bin: { shopwire: 'shopwire.mjs' },
    publishConfig: { access: 'public' },
  }
}
