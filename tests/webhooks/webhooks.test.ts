import { testRig } from './run-rig.ts'

/** How soon events arrive, also beside receivers and name servers that hang. */
testRig('timed')
