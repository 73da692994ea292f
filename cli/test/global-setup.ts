import { buildPackage } from '../../packaging/pack.ts'

/** The tests run the program that is published, so it is built first. */
export default function setup(): Promise<void> {
  return buildPackage('cli')
}
