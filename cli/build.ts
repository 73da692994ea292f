import { chmod, copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'
import { finishPackage } from '../packaging/finish.ts'

/**
 * Makes `dist/`, the package as it is published: one program with the SDK, the contract's signing and commander in
 * it, so that it installs without dependencies. In the workspace the sources are run directly.
 */
const here = import.meta.dirname

await rm(join(here, 'dist'), { recursive: true, force: true })
await build({
  config: false,
  cwd: here,
  entry: { shopwire: './bin/shopwire.ts' },
  format: 'esm',
  // Node 22 is the oldest supported version.
  target: 'node22',
  platform: 'node',
  fixedExtension: true,
  dts: false,
  // The build fails when another npm package would be bundled, because its licence would be missing.
  deps: { alwaysBundle: [/^@shopwire\//, 'commander'], onlyBundle: ['commander'] },
  outputOptions: { comments: { jsdoc: false } },
  outDir: 'dist',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await chmod(join(here, 'dist/shopwire.mjs'), 0o755)
// commander is bundled, and its licence requires this notice.
await copyFile(new URL('./LICENSE', import.meta.resolve('commander')), join(here, 'dist/LICENSE-commander'))
await finishPackage(here, {
  keywords: ['shopwire', 'cli', 'webhooks', 'hmac', 'gift'],
  engines: { node: '>=22' },
  bin: { shopwire: 'shopwire.mjs' },
})
