import { parseArgs } from 'node:util'
import {
  canMakePublicNetwork,
  createAuthority,
  isInPublicNetwork,
  NO_PUBLIC_NETWORK,
  PUBLIC_ADDRESSES,
  runAgainInPublicNetwork,
} from '@shopwire/test-kit/servers'
import { startReceiver } from '../../conformance/receiver.ts'
import { say } from './command.ts'
import { proveCompose } from './compose.ts'
import { makeImages, startEngine } from './engine.ts'
import { proveImage } from './image.ts'
import { proveProfiles } from './profiles.ts'
import { assembleImage, makeRootFolders } from './root-folders.ts'
import { proveSystemd } from './systemd.ts'

const HELP = `npm run kit                     everything; needs root, and Debian's debootstrap, docker.io and docker-compose
npm run kit -- [options]

  --only PARTS    some of compose, image, profiles, systemd; separated by commas. systemd needs no Docker, but Debian's systemd,
                  postgresql, haproxy and pgbackrest
  --fresh         makes the images of the other services anew
`
const IN_DOCKER = { compose: proveCompose, image: proveImage, profiles: proveProfiles }
const PARTS = { ...IN_DOCKER, systemd: proveSystemd }
const RECEIVER = { host: PUBLIC_ADDRESSES[0], port: 8443 }

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
    fresh: { type: 'boolean', default: false },
  },
})
const chosen = values.only.split(',')
const needsDocker = chosen.some((name) => name in IN_DOCKER)

if (values.help || !chosen.every((name) => name in PARTS)) {
  process.stdout.write(HELP)
  process.exitCode = values.help ? 0 : 2
} else if (!isInPublicNetwork() && !canMakePublicNetwork()) {
  process.stderr.write(`kit: ${NO_PUBLIC_NETWORK}.\n`)
  process.exitCode = 1
} else if (!isInPublicNetwork()) {
  // Packages come from outside; afterwards everything runs in a network in which a public address is this machine, since events are
  // sent to public addresses only, and in which nothing can be pulled by accident.
  if (needsDocker) await makeRootFolders(values.fresh)
  await assembleImage()
  process.exitCode = await runAgainInPublicNetwork()
} else await prove()

async function prove(): Promise<void> {
  const authority = await createAuthority()
  const certificate = await authority.issue(`IP:${RECEIVER.host}`)
  const url = `https://${RECEIVER.host}:${RECEIVER.port}`
  const receiver = await startReceiver({ ...RECEIVER, ...certificate, url })
  const engine = needsDocker ? await startEngine() : undefined
  try {
    if (engine) {
      await makeImages(engine, values.fresh, authority.file)
      for (const [name, part] of Object.entries(IN_DOCKER))
        if (chosen.includes(name)) say(`${name}: ${JSON.stringify(await part({ engine, receiver }))}`)
    }
    if (chosen.includes('systemd'))
      say(`systemd: ${JSON.stringify(await proveSystemd({ authority: authority.file, receiver }))}`)
  } finally {
    await engine?.stop()
    await receiver.close()
    await authority.remove()
  }
}
