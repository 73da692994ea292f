import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'tsdown'
import { finishPackage } from '../packaging/finish.ts'
import { rememberModules } from '../packaging/packages-of.ts'

/**
 * Makes `dist/`, the package as it is published: one program with the SDK, the contract's signing and CSV, and commander
 * in it, so that it installs without dependencies. In the workspace the sources are run directly.
 */
const here = import.meta.dirname
const { modules, plugin } = rememberModules()
const PACKAGES = ['commander', 'csv-parse', 'csv-stringify']

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
  // Another package in it would be a decision: the build fails instead.
  deps: { alwaysBundle: [/^@shopwire\//, ...PACKAGES], onlyBundle: PACKAGES },
  plugins: [plugin],
  outputOptions: { comments: { jsdoc: false } },
  outDir: 'dist',
  tsconfig: '../tsconfig.json',
  logLevel: 'warn',
  failOnWarn: true,
})
await chmod(join(here, 'dist/shopwire.mjs'), 0o755)
await finishPackage(
  here,
  {
    keywords: ['shopwire', 'cli', 'webhooks', 'hmac', 'gift'],
    engines: { node: '>=22' },
    bin: { shopwire: 'shopwire.mjs' },
  },
  modules,
)
