import { chmod, copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'
import { finishPackage } from '../packaging/finish.ts'

/**
 * Makes `dist/`, the package as it is published: one program with the SDK, the contract's signing and commander in it, so
 * that installing it brings nothing else along. In the workspace the sources are run as they are.
 */
const here = import.meta.dirname

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
  // What else from npm found its way in would be there without its licence: the build fails then.
  deps: { alwaysBundle: [/^@shopwire\//, 'commander'], onlyBundle: ['commander'] },
  outputOptions: { comments: { jsdoc: false } },
  outDir: 'dist',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await chmod(join(here, 'dist/shopwire.mjs'), 0o755)
// Its licence asks for it: commander is part of the program.
await copyFile(new URL('./LICENSE', import.meta.resolve('commander')), join(here, 'dist/LICENSE-commander'))
await finishPackage(here, {
  keywords: ['shopwire', 'cli', 'webhooks', 'hmac', 'gift'],
  engines: { node: '>=22' },
  bin: { shopwire: 'shopwire.mjs' },
})
