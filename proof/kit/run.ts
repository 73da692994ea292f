import { parseArgs } from 'node:util'
import {
  canMakePublicNetwork,
  createAuthority,
  isInPublicNetwork,
  NO_PUBLIC_NETWORK,
  PUBLIC_ADDRESSES,
  runAgainInPublicNetwork,
} from '@shopwire/engines'
import { startReceiver } from '../conformance/receiver.ts'
import { say } from './command.ts'
import { makeImages, startEngine } from './engine.ts'
import { proveImage } from './image.ts'
import { install } from './install.ts'
import { proveProfiles } from './profiles.ts'
import { makeRootFolders } from './root-folders.ts'
import { proveUnits } from './units.ts'

const HELP = `npm run kit                     everything; needs root, and Debian's debootstrap, docker.io and docker-compose
npm run kit -- [options]

  --only PARTS    some of install, image, profiles, units; separated by commas
  --fresh         makes the images of the other services anew
`
const PARTS = { install, image: proveImage, profiles: proveProfiles, units: proveUnits }
const RECEIVER = { host: PUBLIC_ADDRESSES[0], port: 8443 }

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
    fresh: { type: 'boolean', default: false },
  },
})
const chosen = values.only.split(',')

if (values.help || !chosen.every((name) => name in PARTS)) {
  process.stdout.write(HELP)
  process.exitCode = values.help ? 0 : 2
} else if (!isInPublicNetwork() && !canMakePublicNetwork()) {
  process.stderr.write(`kit: ${NO_PUBLIC_NETWORK}.\n`)
  process.exitCode = 1
} else if (!isInPublicNetwork()) {
  // Packages come from outside; afterwards everything runs in a network in which a public address is this machine, since events are
  // sent to public addresses only, and in which nothing can be pulled by accident.
  await makeRootFolders(values.fresh)
  process.exitCode = await runAgainInPublicNetwork()
} else await prove()

async function prove(): Promise<void> {
  const authority = await createAuthority()
  const certificate = await authority.issue(`IP:${RECEIVER.host}`)
  const url = `https://${RECEIVER.host}:${RECEIVER.port}`
  const receiver = await startReceiver({ ...RECEIVER, ...certificate, url })
  const engine = await startEngine()
  try {
    await makeImages(engine, values.fresh)
    for (const [name, part] of Object.entries(PARTS)) {
      if (!chosen.includes(name)) continue
      const shown = await part({ engine, authority: authority.file, receiver })
      say(`${name}: ${JSON.stringify(shown)}`)
    }
  } finally {
    await engine.stop()
    await receiver.close()
    await authority.remove()
  }
}
