import { bundlePrograms } from '@shopwire/harness/bundle'

/** Once for all projects, and for runs that a test starts: they inherit the variable. */
export default async function setup(): Promise<void> {
  process.env.SHOPWIRE_PROGRAMS ??= await bundlePrograms()
}
