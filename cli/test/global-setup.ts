import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The tests run the program that is published, so it is built first. */
export default async function setup(): Promise<void> {
  await promisify(execFile)(process.execPath, ['build.ts'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  })
}
