import { testRig } from './run-rig.ts'

/** What is sent where and how often, whenever that is: addresses, certificates, killed workers, changed URLs and secrets. */
testRig('untimed')
